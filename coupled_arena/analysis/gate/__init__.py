"""Whether models are as good as a base model."""
