"""Benz, Tsirtsis, Straitouri, Chatzi, et al., "Evaluation … via coupled token generation"."""
