"""The face for notebooks and scripts: what `import coupled_arena` offers, see `docs/python-api.md`."""
