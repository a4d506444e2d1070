"""The face for notebooks and scripts: all that `import coupled_arena` offers."""
