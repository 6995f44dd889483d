"""
Groups of region time series
============================

Resting-state fMRI gives each subject a time series per region. The subject is the unit here.
Volumes of different subjects are never stacked.
"""

# %%
# Series
# ------
# There is one array (volumes x regions) per subject. Your own series come from
# ``sgbn.read_series``, or from arrays by ``sgbn.SeriesCohort.of``. These are simulated, so that the
# truth is known.

import matplotlib.pyplot as plt
import numpy as np

import sgbn

cohort = sgbn.simulate_series({"control": 30, "patient": 30}, regions=12, n_changed=4)
print(cohort.summary())

# %%
# One network of a group
# ----------------------
# The graph minimises the sum of the subjects' scores. Each subject has its own weights on this
# graph. Half samples of the subjects say how sure edges and directions are.

controls = cohort.subset(cohort.group == "control")
learner = sgbn.SeriesSGBN(n_pairs=10).fit(controls)
truth = cohort.networks["control"]
errors = sgbn.compare_graphs(learner, truth)
print(f"{errors.n_learned} edges learned, {errors.adjacencies_found} of {errors.n_true} true ones")

# %%
# The marks are the weights of one edge, one per subject. The line is their mean, which the network
# shows.

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
# The call is the same as for tables: the input decides. Means over volumes carry no information and
# are not compared. The weights of the subjects are compared, with motion held fixed.

settings = sgbn.Settings.networks_only(n_permutations=199)
compared = sgbn.compare(cohort, settings)
print(compared.summary())

# %%
# The figure and the table show the surest differences, and which of them are true.

compared.plot()
plt.show()
compared.differences[["source", "target", "difference_std", "q_both", "true_change"]].head()
