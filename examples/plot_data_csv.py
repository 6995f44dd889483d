"""
From a CSV to a network
=======================

You only need a table with one row per subject. This example writes such a table, reads it, learns a
network of one group and draws it.
"""

# %%
# A table
# -------
# We simulate a study and write it as a CSV file, as a spreadsheet would. Use your own file instead.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sgbn
from sgbn.write.draw.circle import plot_circle

folder = Path(tempfile.mkdtemp())
simulated = sgbn.simulate_cohort(150, regions=20, covariates=["age", "sex"])
sgbn.write_table(simulated, folder / "table.csv")
print(pd.read_csv(folder / "table.csv").iloc[:3, :7].to_string(index=False))

# %%
# Read it
# -------
# Name the columns that are not regions. The regions are found by their names, because the atlas AAL
# knows them. ``summary`` says what was read. Look at it before anything else.

cohort = sgbn.read_table(folder / "table.csv", group="group", covariates=["age", "sex"])
print(cohort.summary())

# %%
# Learn
# -----
# Age and sex move all regions together. Such a common cause would join regions that have nothing
# to do with each other. So ``group_network`` removes its effect first. It also fills in missing
# cells.

few = sgbn.SGBNEnsemble(n_chains=20, n_pairs=10)  # fewer than by default
learner = sgbn.group_network(cohort, "control", few)
print(learner.network_)

# %%
# Read the edges
# --------------
# ``weight_std`` is the change of the target, in standard deviations of the target, if the source
# changes by one of its standard deviations. ``supported`` says whether half samples agree on the
# direction. If they do not, source and target come from one graph among others.

edges = sgbn.edge_table(learner)
print(edges.head(8).to_string(index=False))

# %%
# Draw
# ----
# Edges whose direction is supported are arrows. The others are lines. Red is positive.

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
