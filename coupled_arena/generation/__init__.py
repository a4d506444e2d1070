"""Lockstep decoding from one noise stream: noise, vocabularies, sampling, models, the engine."""

import logging

# On import bitsandbytes recommends a package that would fetch CPU kernels from the network; it
# computes with its own. It also writes a line for every 8-bit matrix product.
for _name in ("bitsandbytes.backends.cpu.ops", "bitsandbytes.autograd._functions"):
    logging.getLogger(_name).setLevel(logging.ERROR)
