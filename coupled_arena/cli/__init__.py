"""The command line: ``python -m coupled_arena``."""

from coupled_arena.cli.main import main

__all__ = ["main"]
