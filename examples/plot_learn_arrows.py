"""
Reading arrows honestly
=======================

Many networks fit Gaussian data equally well. They have the same joined pairs, but differ in some
arrows. This example shows what decides an arrow, and how often half of the subjects give it again.
"""

# %%
# A network whose truth is known
# ------------------------------
# The network has twenty-four variables, and there are 120 subjects.

import matplotlib.pyplot as plt
import numpy as np

import sgbn

rng = np.random.default_rng(1)
graph = sgbn.random_dag(24, 2.0, rng)
X, truth = sgbn.simulate_sem(graph, 120, low=0.3, noise="unequal", random_state=rng)
learner = sgbn.SGBNEnsemble(n_chains=40, n_pairs=20).fit(X)
errors = sgbn.compare_graphs(learner.coef_, graph)
print(f"{learner.network_}; wrong arrows: {errors.false} learned, {errors.missing} not found")

# %%
# What decides a direction in one graph
# -------------------------------------
# "compelled" means that every network that fits exactly as well has this arrow. "reversible" means
# that some of them have it the other way round. Both are properties of this one graph. Nearly every
# graph that is learned from few subjects has compelled arrows, and the next graph has others.

edges = sgbn.edge_table(learner)
print(edges["graph_direction"].value_counts().to_string())

# %%
# What halves of the subjects support
# -----------------------------------
# The ensemble learned from both halves of 20 random splits. ``adjacent`` is the share of their
# networks that join the pair. ``this_way`` is the share of these networks with the direction shown.
# A direction is supported if the first is at least 0.8 and the second at least 0.9.

print(edges[["source", "target", "supported", "adjacent", "this_way"]].head(6).round(2).to_string())
print(f"supported: {edges['supported'].sum()} of {len(edges)} directions")

# %%
# ``drawn_graph_`` has an arrow if the direction is supported. Otherwise it has a line without a
# head: then ``drawn_graph_[i, j]`` and ``drawn_graph_[j, i]`` are both set.

lines = learner.drawn_graph_ & learner.drawn_graph_.T
arrows = learner.drawn_graph_ & ~lines
print(f"{arrows.sum()} arrows and {lines.sum() // 2} lines")

# %%
# Here the truth is known. How many of the directions are right?

true = {(f"x{i}", f"x{j}") for i, j in np.argwhere(graph)}
edges["right"] = [pair in true for pair in zip(edges["source"], edges["target"], strict=True)]
print("supported:", edges.loc[edges["supported"], "right"].mean().round(2))
print("not supported:", edges.loc[~edges["supported"], "right"].mean().round(2))

fig, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
styles = {True: ("#0072B2", "o", "right"), False: ("#D55E00", "s", "wrong")}
for right, (colour, marker, label) in styles.items():
    part = edges[edges["right"] == right]
    ax.scatter(part.adjacent, part.this_way, c=colour, marker=marker, label=label, alpha=0.8)
ax.axhline(learner.min_direction, color="0.6", lw=1, ls=":")
ax.axvline(learner.min_adjacency, color="0.6", lw=1, ls=":")
ax.set(
    xlabel="share of half samples' networks that join the pair",
    ylabel="share of these with the direction shown",
    title="Directions in the upper right corner are supported",
    xlim=(-0.03, 1.03),
)
ax.legend(title="direction of the learned edge", loc="lower left")
plt.show()
