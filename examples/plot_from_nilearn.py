"""
Coming from nilearn's connectivity
==================================

nilearn's ``ConnectivityMeasure`` gives correlations and partial correlations. These are one number
per pair, without a direction. This example shows what a network adds, and what it does not.
"""

# %%
# Region values
# -------------
# The rows are subjects here, with one number per region and subject. (nilearn's rows are usually
# the time points of one subject. Such series are compared in another way, with the subject as the
# unit: see "Groups of region time series".)

import matplotlib.pyplot as plt
import numpy as np
from nilearn.connectome import ConnectivityMeasure
from sklearn.covariance import EmpiricalCovariance

import sgbn
from sgbn.write.draw.matrices import plot_matrix

cohort = sgbn.simulate_cohort(120, regions=40)
rows = cohort.of_group("control")
names, lobes = list(cohort.regions), cohort.lobes
truth = cohort.networks["control"]
joined = (truth.coef != 0) | (truth.coef != 0).T

# %%
# Three views of the same rows
# ----------------------------
# Read the matrix of a network by rows: the region of the row leads to the region of the column.

measures = {}
for kind in ("correlation", "partial correlation"):
    measure = ConnectivityMeasure(
        kind=kind, cov_estimator=EmpiricalCovariance(), standardize="zscore_sample"
    )
    measures[kind] = measure.fit_transform([rows])[0]
    np.fill_diagonal(measures[kind], 0)
learner = sgbn.SGBN().fit(rows)

views = {f"nilearn: {kind}": values for kind, values in measures.items()}
sd = np.sqrt(np.diag(truth.covariance))
views |= {"sgbn: learned network": learner.coef_std_, "true network": truth.coef * sd[:, None] / sd}
fig, axes = plt.subplots(2, 2, figsize=(11, 11), layout="constrained")
for ax, (title, values) in zip(axes.flat, views.items(), strict=True):
    plot_matrix(ax, values, names, lobes, title=title, limit=1.0)

# %%
# What each says about a pair
# ---------------------------
# A correlation is not zero if any path joins two regions. A partial correlation is not zero if an
# edge joins them, or if both lead into a third region. A network distinguishes these cases.
#
# The truth is known here. From each matrix of nilearn we take as many pairs as there are true ones,
# the strongest first, and count the pairs that are truly joined. From the network we take the pairs
# that it joins.

pairs = np.triu_indices(len(names), 1)
n_true = int(joined[pairs].sum())
for kind, values in measures.items():
    strongest = np.argsort(-np.abs(values[pairs]))[:n_true]
    print(f"{kind}: {joined[pairs][strongest].sum()} of {n_true} strongest pairs are true")
learned = (learner.coef_ != 0) | (learner.coef_ != 0).T
print(f"network: {(learned & joined)[pairs].sum()} of its {learned[pairs].sum()} pairs are true")

# %%
# From a network to a partial correlation
# ---------------------------------------
# A network implies a covariance, and therefore partial correlations. It has few parameters instead
# of one for each pair. Its partial correlations are nearer to the true ones than the plain
# estimate.


def partial(covariance):
    """Return the partial correlations of a covariance."""
    precision = np.linalg.inv(covariance)
    scale = np.sqrt(np.diag(precision))
    return -precision / np.outer(scale, scale)


true = partial(truth.covariance)[pairs]
estimates = {
    "nilearn, plain covariance": measures["partial correlation"][pairs],
    "implied by the network": partial(learner.network_.covariance)[pairs],
}
fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
styles = (("#E69F00", "s"), ("#0072B2", "o"))
for (name, values), (colour, marker) in zip(estimates.items(), styles, strict=True):
    error = np.sqrt(np.mean((values - true) ** 2))
    label = f"{name}: error {error:.3f}"
    ax.scatter(true, values, s=14, c=colour, marker=marker, alpha=0.6, label=label)
ax.axline((0, 0), slope=1, color="0.5", lw=1, ls=":")
ax.set(xlabel="true partial correlation", ylabel="estimate", title="120 subjects, 780 pairs")
ax.legend(loc="upper left")
plt.show()
