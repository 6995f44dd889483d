"""
From a DataFrame to a report
============================

In a notebook, five lines lead from a DataFrame to a report. Each result displays itself in a few
lines. Nothing has to be converted.
"""

# %%
# A table
# -------
# The table has one row per subject, with its group, age and sex, and one column per region. Your
# table comes from ``pd.read_csv``. This one is simulated.

from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt

import sgbn

simulated = sgbn.simulate_cohort(100, regions=12, covariates=["age", "sex"], n_changed=4)
df = sgbn.cohort_table(simulated).assign(dx=simulated.group)
df.iloc[:3, :5]

# %%
# Compare
# -------
# Name the columns that are not regions. ``networks_only`` with permutations learns one network per
# group and tests their differences. ``Settings.quick()`` does a little of everything. Without
# settings, all steps run.

settings = sgbn.Settings.networks_only(n_permutations=199)
comparison = sgbn.compare(df, settings, group="dx", covariates=["age", "sex"], learner=sgbn.SGBN())
comparison  # noqa: B018 (a notebook shows it)

# %%
# See
# ---
# The figure shows the surest differences. A marker is filled if the pair differs whichever way its
# arrow is read.

comparison.plot()
plt.show()

# %%
# This is the same as a table. ``sgbn.comparison.Tables`` describes every column.

comparison.differences[["source", "target", "kind_patient", "difference_std", "q_both"]].head()

# %%
# The summary says in words what was found.

print(comparison.summary())

# %%
# Write
# -----
# The report is one HTML file that opens without a network connection. Tables and pictures are
# beside it.

with TemporaryDirectory() as folder:
    files = sgbn.write_comparison(comparison, folder)
    print(len(files), "files; open", files[0].name)
