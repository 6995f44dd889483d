"""
Groups of region time series
============================

Resting-state fMRI gives each subject a time series per region. The subject is the unit here:
volumes of different subjects are never stacked.
"""

# %%
# Series
# ------
# One array (volumes x regions) per subject. Yours come from ``sgbn.read_series``, or from arrays by
# ``sgbn.SeriesCohort.of``; these are simulated, so that the truth is known.

import matplotlib.pyplot as plt
import numpy as np

import sgbn

cohort = sgbn.simulate_series({"control": 30, "patient": 30}, regions=12, n_changed=4)
print(cohort.summary())

# %%
# One network of a group
# ----------------------
# The graph minimises the sum of the subjects' scores. Each subject has weights of its own on it,
# and half samples of the subjects say how sure edges and directions are.

controls = cohort.subset(cohort.group == "control")
learner = sgbn.SeriesSGBN(n_pairs=10).fit(controls)
truth = cohort.networks["control"]
errors = sgbn.compare_graphs(learner, truth)
print(f"{errors.n_learned} edges learned, {errors.adjacencies_found} of {errors.n_true} true ones")

# %%
# A weight of one edge, subject by subject. The line is the mean, which the network shows.

source, target = np.argwhere(learner.coef_)[0]
weights = learner.subject_weights_[:, source, target]
fig, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
ax.plot(weights, np.zeros_like(weights), "|", markersize=24)
ax.axvline(learner.coef_[source, target], color="black")
ax.set(yticks=[], xlabel=f"weight of {cohort.regions[source]} in {cohort.regions[target]}")
plt.show()

# %%
# Compare
# -------
# The same call as for tables: what it is given decides. Means over volumes carry no information and
# are not compared; weights of the subjects are, with motion held fixed.

settings = sgbn.Settings.networks_only(n_permutations=199)
compared = sgbn.compare(cohort, settings)
print(compared.summary())

# %%
# The surest differences, and which of them are true.

compared.plot()
plt.show()
compared.differences[["source", "target", "difference_std", "q_both", "true_change"]].head()
