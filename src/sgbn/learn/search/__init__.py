"""Searches over orders and parents: from moments and prices to the best network found.

In: a `SearchProblem`, made of `Moments` and prior knowledge. Out: the parents of each variable in
the best network. Start reading at ``plan.py``, which has all rules about sizes, then ``search.py``.
"""
