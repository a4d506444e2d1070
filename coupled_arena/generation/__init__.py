"""Lockstep decoding from one noise stream: noise, vocabularies, sampling, models, the engine."""

import logging

# On import bitsandbytes recommends a package that would fetch CPU kernels from the network; it
# computes with its own. It also writes a line for every 8-bit matrix product.
for _name in ("bitsandbytes.backends.cpu.ops", "bitsandbytes.autograd._functions"):
    logging.getLogger(_name).setLevel(logging.ERROR)

# Where torchao is installed transformers imports it, whatever the model: it tells of kernels for
# other devices, and has torch tell of what it should change in itself. Nothing else is dropped.
for _name, _words in (
    ("torchao", "Failed to load "),
    ("torchao.kernel.intmm", "Detected no triton"),
    ("torch.utils._pytree", "is an Enum subclass"),
):
    logging.getLogger(_name).addFilter(
        lambda record, words=_words: words not in record.getMessage()
    )
