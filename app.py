"""The web app: ``python app.py`` is ``python -m coupled_arena serve``."""

import sys

from coupled_arena.cli import main

if __name__ == "__main__":  # the process that decodes imports this file, too
    main(["serve", *sys.argv[1:]])
