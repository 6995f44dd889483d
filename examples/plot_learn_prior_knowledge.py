"""
Prior knowledge and tiers
=========================

You can tell the learner what you know before you look at the data: edges that cannot exist, edges
that must exist, and which variables come before others. Knowledge directs what data leave open.
"""

# %%
# Age comes first
# ---------------
# Age can change a brain region, but no brain region changes age. ``tiers`` says so: no edge leads
# from a later tier into an earlier one.

import matplotlib.pyplot as plt
import pandas as pd

import sgbn
from sgbn.write.draw.matrices import plot_matrix

cohort = sgbn.simulate_cohort(300, regions=12, covariates=["age"])
controls = cohort.subset(groups=["control"])
table = pd.DataFrame(controls.values, columns=controls.regions)
table.insert(0, "age", controls.covariates["age"])
regions = list(controls.regions)

free = sgbn.SGBN().fit(table)
tiered = sgbn.SGBN(tiers=[["age"], regions]).fit(table)

# %%
# Without tiers some edges may lead into age. With tiers none does. Some arrows that were
# "reversible" are now decided by "prior knowledge".

for name, learner in (("no knowledge", free), ("age first", tiered)):
    edges = sgbn.edge_table(learner)
    into_age = int((edges["target"] == "age").sum())
    print(f"{name}: {len(edges)} edges, {into_age} into age")
    print("   ", edges["graph_direction"].value_counts().to_dict())

# %%
# Single edges
# ------------
# ``forbidden`` and ``required`` take pairs (source, target) by name. Here we forbid the strongest
# edge both ways, and require an edge from age to another region.

strongest = sgbn.edge_table(tiered).iloc[0]
pair = (strongest["source"], strongest["target"])
told = sgbn.SGBN(
    tiers=[["age"], regions],
    forbidden=[pair, pair[::-1]],
    required=[("age", regions[0])],
).fit(table)
edges = sgbn.edge_table(told)
print("forbidden:", " -> ".join(pair))
print(
    edges[edges["graph_direction"] == "prior knowledge"][["source", "target"]].to_string(
        index=False
    )
)

# %%
# Knowledge has a price, and the criterion shows it. Lower is better. If the score rises much, the
# data contradict what you gave.

for name, learner in (("no knowledge", free), ("age first", tiered), ("edge forbidden", told)):
    print(f"{name}: {learner.score_:.1f}")

# %%
# If knowledge contradicts itself, the error names the edges.

try:
    sgbn.SGBN(required=[pair, pair[::-1]]).fit(table)
except sgbn.InputError as error:
    print(error)

# %%
# The two networks
# ----------------

names = list(table.columns)
fig, axes = plt.subplots(1, 2, figsize=(11, 5.5), layout="constrained")
for ax, learner, title in ((axes[0], free, "No knowledge"), (axes[1], tiered, "Age first")):
    plot_matrix(
        ax, learner.coef_std_, names, [""] * len(names), title=title, highlight=["age"], limit=1.0
    )
plt.show()
