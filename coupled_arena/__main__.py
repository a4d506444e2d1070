"""``python -m coupled_arena``."""

from coupled_arena.cli import main

main()
