"""Moments and prices in, the best network that was found out: searches over orders and parents."""
