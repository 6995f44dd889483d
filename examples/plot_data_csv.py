"""
From a CSV to a network
=======================

A table with one row per subject is all that you need. This example writes such a table, reads it,
learns a network of one group and draws it.
"""

# %%
# A table
# -------
# We simulate a study and write it as a CSV, as a spreadsheet would. Your own file takes its place.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sgbn
from sgbn.viz import plot_circle

folder = Path(tempfile.mkdtemp())
simulated = sgbn.simulate_cohort(150, regions=20, covariates=["age", "sex"])
sgbn.write_table(simulated, folder / "table.csv")
print(pd.read_csv(folder / "table.csv").iloc[:3, :7].to_string(index=False))

# %%
# Read it
# -------
# Name the columns that are not regions. The regions are found by their names: the atlas AAL knows
# them. ``summary`` says what was read; look at it before anything else.

cohort = sgbn.read_table(folder / "table.csv", group="group", covariates=["age", "sex"])
print(cohort.summary())

# %%
# Learn
# -----
# Age and sex move all regions together. Such a common cause would join regions that have nothing
# to do with each other, so its effect is taken out first. ``group_network`` does so, and fills in
# missing cells.

few = sgbn.SGBNEnsemble(n_chains=20, n_pairs=10)  # fewer than by default
learner = sgbn.group_network(cohort, "control", few)
print(learner.network_)

# %%
# Read the edges
# --------------
# ``weight_std`` is the change of the target, in its standard deviations, for one of the source's.
# ``supported`` says whether half samples agree on the direction; where they do not, source and
# target are those of one graph among others.

edges = sgbn.edge_table(learner)
print(edges.head(8).to_string(index=False))

# %%
# Draw
# ----
# Arrows are edges whose direction is supported, the others are lines. Red is positive.

fig, ax = plt.subplots(figsize=(7, 7), layout="constrained")
plot_circle(
    ax,
    learner.coef_std_,
    cohort.regions,
    cohort.lobes,
    supported=learner.supported_,
    hemispheres=[place.hemisphere for place in cohort.places],
    title=f"{np.count_nonzero(learner.coef_)} edges of {cohort.sizes['control']} controls",
)
plt.show()
