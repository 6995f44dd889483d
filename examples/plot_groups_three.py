"""
Three groups
============

More than two groups are compared in the same way as two. Every edge is tested for any difference
between the groups, and so is the whole network.
"""

# %%
# Controls and two kinds of patients
# ----------------------------------
# The second and the third group differ from the first in some edges, each in another lobe.

import matplotlib.pyplot as plt

import sgbn
from sgbn.inference.differences import edge_differences
from sgbn.write.draw.differences import plot_permutations

cohort = sgbn.simulate_cohort(
    120, regions=16, groups=["control", "early", "late"], differ="edges", n_changed=5
)
print(cohort.summary())

# %%
# Test
# ----
# 199 permutations are enough to see how it works. Take 999 or more for a paper. If the cohort has
# covariates and sites, they are held fixed automatically.

tests = edge_differences(cohort, reference="control", n_permutations=199)
print(tests)

# %%
# The global test asks whether the networks differ at all. The grey histogram is what permutations
# give if nothing differs.

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
plot_permutations(ax, tests.null["totals"], tests.global_statistic, label="global statistic")
ax.set_title("Do the three networks differ at all?")

# %%
# Which edges differ? ``q`` is the false discovery rate. The weights of all groups are beside it.
# The table also has ``difference``, the weight in the last group minus the weight in the first.

differing = sgbn.to_frame(tests.significant(0.05))
weights = [f"weight_{group}" for group in tests.groups]
print(differing[["source", "target", *weights, "q"]].round(3).to_string(index=False))

# %%
# Which groups differ? Closed tests reject "these two are equal" only if they also reject "all are
# equal". So they hold the level for all pairs together.

for (first, second), table in tests.pairwise.items():
    sure = table[table["p_fwer"] <= 0.05]
    names = [f"{source} -> {target}" for source, target in sure[["source", "target"]].tolist()]
    print(f"{first} and {second}: {', '.join(names) or 'no edge'}")

# %%
# Here the truth is known: these edges were changed. If an arrow was learned the other way round,
# the change is found at the same pair.

for group, edges in cohort.changed.items():
    print(group, ", ".join(f"{source} -> {target}" for source, target in edges[:5]))

# %%
# The weights side by side
# ------------------------
# Three learned networks always look different. Only the edges in bold differ by more than chance.

edges = sgbn.to_frame(tests.edges).iloc[::-1]
styles = {"control": ("#0072B2", "o"), "early": ("#E69F00", "s"), "late": ("#D55E00", "^")}
fig, ax = plt.subplots(figsize=(8, 5), layout="constrained")
for group, (colour, marker) in styles.items():
    ax.scatter(edges[f"weight_{group}"], range(len(edges)), c=colour, marker=marker, label=group)
ax.axvline(0, color="0.6", lw=1, ls=":")
ax.set_yticks(range(len(edges)), edges["source"] + " -> " + edges["target"])
for label, q in zip(ax.get_yticklabels(), edges["q"], strict=True):
    label.set_fontweight("bold" if q <= 0.05 else "normal")
ax.set(xlabel="weight (mm$^3$ per mm$^3$)", title="Weights of the edges tested; bold: q up to 0.05")
ax.grid(axis="y", color="0.9")
ax.legend()
plt.show()
