"""
Coming from bnlearn
===================

R's bnlearn writes networks as BIF files and as model strings. This example takes both to sgbn and
back, and says which functions correspond.

=================================  =======================================
bnlearn                            sgbn
=================================  =======================================
``hc(x)``, ``tabu(x)``             ``SGBN().fit(X)``
``gs``, ``iamb``, ``inter.iamb``   ``GS``, ``IAMB``, ``InterIAMB``
``bn.fit(dag, x)``                 ``fit_weights(X, graph)``
``cpdag(dag)``, ``vstructs(dag)``  ``cpdag(A)``, ``graph.v_structures(A)``
``shd(a, b)``                      ``shd(a, b)``
``whitelist``, ``blacklist``       ``required``, ``forbidden``
``boot.strength``                  ``inference.edge_confidence``
``read.bif``                       ``read_bif``
``modelstring``                    the two functions below
=================================  =======================================
"""

# %%
# A BIF file
# ----------
# ``read_bif`` reads the graph. It ignores the tables of probabilities, which are for discrete
# variables.

import re
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sgbn
from sgbn.write.draw.matrices import plot_matrix

folder = Path(tempfile.mkdtemp())
(folder / "small.bif").write_text(
    """network small { }
variable a { type discrete [ 2 ] { yes, no }; }
variable b { type discrete [ 2 ] { yes, no }; }
variable c { type discrete [ 2 ] { yes, no }; }
probability ( a ) { table 0.5, 0.5; }
probability ( b ) { table 0.5, 0.5; }
probability ( c | a, b ) { (yes, yes) 0.9, 0.1; (yes, no) 0.5, 0.5;
                           (no, yes) 0.5, 0.5; (no, no) 0.1, 0.9; }
"""
)
small = sgbn.read_bif(folder / "small.bif")
print(small.names, np.argwhere(small.graph).tolist())

# %%
# Model strings
# -------------
# ``[a][b][c|a:b]`` names each variable with its parents. In sgbn a graph is a matrix: ``A[i, j]``
# is set for i -> j, as in bnlearn's ``amat``.


def from_modelstring(text):
    """Return the names and the graph of a model string."""
    nodes = [node.partition("|") for node in re.findall(r"\[([^\]]+)\]", text)]
    names = [name for name, _, _ in nodes]
    graph = np.zeros((len(names), len(names)), bool)
    for name, _, parents in nodes:
        for parent in filter(None, parents.split(":")):
            graph[names.index(parent), names.index(name)] = True
    return names, graph


def to_modelstring(names, graph):
    """Return the model string of a graph."""
    parents = [":".join(np.array(names)[column]) for column in np.asarray(graph, bool).T]
    return "".join(
        f"[{name}|{of}]" if of else f"[{name}]" for name, of in zip(names, parents, strict=True)
    )


names, graph = from_modelstring("[age][sex][icv|sex][hippocampus|age:icv][memory|age:hippocampus]")
print(to_modelstring(names, graph))

# %%
# Fit and learn
# -------------
# ``bn.fit`` on a given graph is ``fit_weights``. It uses least squares, and gives the same numbers.

X, _ = sgbn.simulate_sem(graph, 500, noise="unequal", random_state=1)
data = pd.DataFrame(X, columns=names)
fitted = sgbn.fit_weights(data, graph)
print(sgbn.to_frame(fitted.edges()).round(2).to_string(index=False))

# %%
# ``hc`` with a blacklist is ``SGBN`` with ``forbidden``. Here no edge leads into age or sex.

blacklist = [(source, target) for source in names for target in names[:2] if source != target]
learner = sgbn.SGBN(forbidden=blacklist).fit(data)
print(to_modelstring(names, learner.coef_ != 0))
print("SHD to the true graph's class:", sgbn.shd(sgbn.cpdag(learner.coef_), sgbn.cpdag(graph)))

# %%
# Published networks
# ------------------
# The nine graphs of the paper's second experiment are built in. We simulate Gaussian data on one of
# them. IAMB tests for independence, and SGBN searches over orders.

alarm = sgbn.load_network("alarm")
X, _ = sgbn.simulate_sem(alarm.graph, 1000, random_state=0)
fig, axes = plt.subplots(1, 2, figsize=(12, 6.3), layout="constrained")
for ax, learner in zip(axes, (sgbn.IAMB(), sgbn.SGBN()), strict=True):
    learned = learner.fit(X).coef_ != 0
    wrong = sgbn.compare_graphs(learned, alarm.graph)
    title = (
        f"{type(learner).__name__}: {wrong.false} false arrows, {wrong.missing} missing (outlined)"
    )
    plot_matrix(
        ax, learned, alarm.names, [""] * 37, title=title, limit=2.0, marked=learned != alarm.graph
    )
plt.show()
