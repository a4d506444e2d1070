"""The web app: ``python app.py`` is ``python -m coupled_arena serve``."""

import sys

from coupled_arena.cli import main

main(["serve", *sys.argv[1:]])
