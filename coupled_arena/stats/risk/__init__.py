"""Stochastic dominance, mean-risk models, portfolios."""
