"""
From a DataFrame to a report
============================

In a notebook, five lines lead from a DataFrame to a report. Each result shows itself in a few
lines; nothing has to be converted.
"""

# %%
# A table
# -------
# One row per subject: what group it is of, its age and sex, and one column per region. Yours comes
# from ``pd.read_csv``; this one is simulated.

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
# group and tests their differences; ``Settings.quick()`` does a little of everything, and without
# settings all is done.

settings = sgbn.Settings.networks_only(n_permutations=199)
comparison = sgbn.compare(df, settings, group="dx", covariates=["age", "sex"], learner=sgbn.SGBN())
comparison  # noqa: B018 (a notebook shows it)

# %%
# See
# ---
# The surest differences. A marker is filled where a pair differs whichever way its arrow is read.

comparison.plot()
plt.show()

# %%
# The same as a table. Every column is described in ``sgbn.comparison.Tables``.

comparison.differences[["source", "target", "kind_patient", "difference_std", "q_both"]].head()

# %%
# What came out, in words.

print(comparison.summary())

# %%
# Write
# -----
# One HTML file that opens without a network connection, tables and pictures beside it.

with TemporaryDirectory() as folder:
    files = sgbn.write_comparison(comparison, folder)
    print(len(files), "files; open", files[0].name)
