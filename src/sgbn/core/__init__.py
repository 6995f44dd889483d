"""What every other package may use: arrays, moments, graphs, the Gaussian model, messages, checks.

In: arrays and names. Out: `Moments` of a sample, graphs as arrays (``A[i, j] != 0`` is i -> j), and
`GaussianNetwork`, a graph with weights. Start reading at ``gaussian.py``, then ``moments.py``.
"""
