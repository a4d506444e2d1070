"""Which model fails least badly: Nitsure et al., "Risk aware benchmarking"."""
