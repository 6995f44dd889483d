"""
Save, load and predict elsewhere
================================

A fitted model is a file that holds numbers and names, and no code. You can give it to others. On
one kind of machine, with the same versions, it gives the same probabilities to the last bit. On
another kind they may differ in the last digits, because its linear algebra rounds differently.
"""

# %%
# Here: train and save
# --------------------
# The file holds the whole analysis: gaps, sites, covariates, chosen regions, networks.

import tempfile
import zipfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sgbn
from sgbn.write.model_files import inputs_of, read_inputs

folder = Path(tempfile.mkdtemp())
cohort = sgbn.simulate_cohort(120, regions=24, covariates=["age"], n_sites=2, missing=0.01)
X, y = sgbn.cohort_table(cohort), cohort.group
train = np.arange(len(cohort)) % 4 != 0
analysis = sgbn.make_analysis(cohort, k=12, classifier=sgbn.SGBNClassifier())
analysis.fit(X[train], y[train])
path = sgbn.save(analysis, folder / "model.sgbn")
print(f"{path.stat().st_size / 1024:.0f} kB")

# %%
# What is in the file? It has numbers and names as JSON, large arrays as npy files, and a checksum
# of each. It keeps no row of a subject. The only exception is imputation by nearest neighbours,
# which needs the rows.

with zipfile.ZipFile(path) as archive:
    print(archive.namelist())

# %%
# Elsewhere: load and predict
# ---------------------------
# The model knows which columns it needs. ``read_inputs`` takes them from a raw table, and says what
# is missing. The table may have a column of groups; it is ignored.

model = sgbn.load(path)
wanted = inputs_of(model)
print(len(wanted.regions), "regions, covariates", wanted.covariates, "site", wanted.site)

sgbn.write_table(cohort.subset(~train), folder / "new.csv")
new = read_inputs(model, folder / "new.csv")
probabilities = model.predict_proba(new)[:, list(model.classes_).index("patient")]

same = np.array_equal(model.predict_proba(new), analysis.predict_proba(X[~train]))
print("equal to the last bit:", same)

# %%
# How sure is it, and how right?
# ------------------------------

truth = cohort.group[~train]
bins = np.linspace(0, 1, 11)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.hist(
    [probabilities[truth == "control"], probabilities[truth == "patient"]],
    bins,
    color=["#0072B2", "#E69F00"],
    label=["in truth a control", "in truth a patient"],
)
ax.axvline(0.5, color="0.4", lw=1, ls=":")
right = np.mean(model.predict(new) == truth)
ax.set(
    xlabel="probability of patient",
    ylabel="new subjects",
    title=f"{len(truth)} new subjects, {right:.0%} right",
)
ax.legend()
plt.show()
