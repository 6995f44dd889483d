"""The paper's experiments: each runs into a folder, and reports and draws from that folder.

``exp1`` to ``exp4`` each end with an `Experiment`, the shape that they share. What an experiment
compares and computes is in its file of methods, where that is long; the form of its report is the
Markdown file of its name, and the paper's figures and claims are in CSV files.
"""
