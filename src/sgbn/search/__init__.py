"""Searches over orders and parents: from moments and prices to the best network found."""
