"""Compare language models side by side, decoding in lockstep from one noise stream."""

__version__ = "0.2.0"
