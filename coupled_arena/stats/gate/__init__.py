"""Whether a model is as good as another one, by differences on the same prompts."""
