"""The paper's experiments. Each stores its results in a folder and makes its report from them.

``exp1`` to ``exp4`` each define an `Experiment`; start reading at ``experiment.py``. The words of a
report are in the Markdown file of the same name, and the paper's figures and claims are in CSV
files.
"""
