"""
Reading arrows honestly
=======================

Many networks fit Gaussian data equally well. They have the same joined pairs, and differ in some
arrows. This example shows which arrows the data decide, and how often half of the subjects
give them again.
"""

# %%
# A network whose truth is known
# ------------------------------
# Twenty-four variables, 120 subjects.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sgbn
from sgbn.inference import edge_confidence

rng = np.random.default_rng(1)
graph = sgbn.random_dag(24, 2.0, rng)
X, truth = sgbn.simulate_sem(graph, 120, low=0.3, noise="unequal", random_state=rng)
learner = sgbn.SGBN().fit(X)
found = sgbn.compare_graphs(learner.coef_, graph)
print(f"{learner.network_}; wrong arrows: {found.false} learned, {found.missing} not found")

# %%
# What a direction rests on
# -------------------------
# "compelled": every network that fits as well has this arrow. "reversible": some have it the other
# way round. The learner must draw it one way, but nothing in the data says which.

edges = sgbn.edge_table(learner)
print(edges["graph_direction"].value_counts().to_string())

# %%
# The equivalence class has an arrow where the direction is compelled, and a line without a head
# elsewhere. ``cpdag_[i, j]`` and ``cpdag_[j, i]`` are both set for a line.

lines = learner.cpdag_ & learner.cpdag_.T
arrows = learner.cpdag_ & ~lines
print(f"{arrows.sum()} arrows and {lines.sum() // 2} lines")

# %%
# Halves of the subjects
# ----------------------
# "Compelled" holds if the learned edges are right. Are they? We learn from 25 random pairs
# of halves, and count how often two variables are joined, and how often in the direction shown.

halves = edge_confidence(X, n_pairs=25)
table = pd.DataFrame(halves.edges(least=0.0))
kind = {
    frozenset(edge[:2]): edge[2] for edge in edges[["source", "target", "graph_direction"]].values
}
pairs = zip(table.source, table.target, strict=True)
table["kind"] = [kind.get(frozenset(pair)) for pair in pairs]
shown = table.dropna(subset=["kind"])
print(shown[["source", "target", "adjacency", "direction", "kind"]].head(6).round(2).to_string())

# %%
# Most joined pairs come back. Their directions do so less often, above all the reversible ones,
# which count half either way.

fig, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
styles = {"compelled": ("#0072B2", "o"), "reversible": ("#D55E00", "s")}
for name, (colour, marker) in styles.items():
    part = shown[shown.kind == name]
    ax.scatter(part.adjacency, part.direction, c=colour, marker=marker, label=name, alpha=0.8)
ax.axhline(0.5, color="0.6", lw=1, ls=":")
ax.set(
    xlabel="share of halves that join the pair",
    ylabel="share of these with the direction shown",
    title="How often half of the subjects give an edge again",
    xlim=(-0.03, 1.03),
    ylim=(0.45, 1.03),
)
ax.legend(title="direction of the learned edge", loc="center left")
sure = int(((shown.adjacency > 0.99) & (shown.direction > 0.95)).sum())
ax.annotate(f"{sure} edges", (1, 1), (0.9, 0.95), arrowprops={"arrowstyle": "-", "color": "0.5"})
plt.show()
