"""Logs of other evaluation tools as scores of models on prompts."""
