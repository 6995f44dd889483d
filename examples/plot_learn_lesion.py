"""
A lesion in the computer
========================

A network says what would follow if a region were fixed from outside: ``do``. That differs from what
follows if a region is only *seen* to have some value. Both answers are only as good as the
network: they hold if the learned network is the true one.
"""

# %%
# A network of one group
# ----------------------

import matplotlib.pyplot as plt
import numpy as np

import sgbn
from sgbn.inference.effects import lesion, total_effects

cohort = sgbn.simulate_cohort(300, regions=40)
learner = sgbn.group_network(cohort, "control", sgbn.SGBN())
network = learner.network_
print(network)

# %%
# Among the regions that others lead into, we take the one that moves others most. Its effects are
# summed per standard deviation.

sd = np.sqrt(np.diag(network.covariance))
effects = np.abs(total_effects(network) * sd[:, None] / sd).sum(axis=1)
effects[~(network.coef != 0).any(axis=0)] = 0
place = int(effects.argmax())
region = network.names[place]
print(region)

# %%
# Seeing and setting
# ------------------
# First we *see* a region two standard deviations below its mean. Then all regions that are joined
# to it tell something, its causes too. Second we *set* it to that value. Then its causes stay as
# they were.

low = network.mean[place] - 2 * sd[place]
seen = network.conditional({region: low})
done = network.do({region: low})
others = [network.names.index(name) for name in seen.names]  # all except the region
seeing = (seen.mean - network.mean[others]) / sd[others]
doing = (done.mean - network.mean)[others] / sd[others]

order = np.argsort(np.abs(seeing))[-14:]
seeing, doing, names = seeing[order], doing[order], np.array(seen.names)[order]
y = np.arange(len(names))
fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
ax.hlines(y, seeing, doing, color="0.8", zorder=0)
ax.scatter(seeing, y, c="#0072B2", marker="o", label="seen")
ax.scatter(doing, y, c="#D55E00", marker="s", label="set, do()")
ax.axvline(0, color="0.6", lw=1, ls=":")
ax.set_yticks(y, names)
ax.set(
    xlabel="expected change (standard deviations)",
    title=f"{region} two standard deviations low: the 14 that change most",
)
ax.legend()

# %%
# A lesion
# --------
# ``lesion`` fixes a region at its mean. It no longer varies, and passes nothing on. Which regions
# lose most of their variance?

after = lesion(network, region)
ranking = after.ranking()
for row in ranking[:5]:
    print(f"{row.region:25s} variance {row.variance_change:+.0%}")

# %%
# What decides these arrows? If an arrow at the lesion is reversible, the opposite lesion would fit
# the data as well. A compelled arrow can change with a few subjects. ``SGBNEnsemble`` says which
# directions half samples support. Say so beside such a figure.

edges = sgbn.edge_table(learner)
at = edges[(edges["source"] == region) | (edges["target"] == region)]
print(at[["source", "target", "graph_direction"]].to_string(index=False))

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
top = ranking[:10][::-1]
ax.barh(top.region, 100 * top.variance_change, color="#56B4E9")
ax.set(xlabel="change of the variance (%)", title=f"After a lesion of {region}")
plt.show()
