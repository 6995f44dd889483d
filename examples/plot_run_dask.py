"""
Running on Dask
===============

Permutations, halves and simulations are many small tasks. Inside ``on_dask`` they run on the
workers of a Dask cluster, with the same numbers as on one processor.
"""

# %%
# A cluster
# ---------
# Here two workers run inside this process, which needs no network. On a real cluster give the
# address of its scheduler, such as ``"tcp://host:8786"``, and change nothing else.

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import sgbn
from sgbn.inference.differences import edge_differences
from sgbn.runs.dask import on_dask
from sgbn.write.draw.differences import plot_permutations

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
client = Client(cluster)
print(len(client.scheduler_info()["workers"]), "workers")

# %%
# The same call, on the cluster
# -----------------------------

cohort = sgbn.simulate_cohort(80, regions=12)
with on_dask(client):
    there = edge_differences(cohort, n_permutations=199)
print(there)

# %%
# The same call, without the cluster
# ----------------------------------
# Results do not depend on where a task ran, because each task has its own seed.

here = edge_differences(cohort, n_permutations=199)
print("equal to the last bit:", np.array_equal(here.null["totals"], there.null["totals"]))

# %%
# At the command line the same is ``sgbn compare table.csv ... --dask tcp://host:8786``. With a
# folder, a run that was stopped continues where it was.

client.close()
cluster.close()

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
plot_permutations(ax, there.null["totals"], there.global_statistic, label="global statistic")
ax.set_title("199 permutations, run by two workers")
plt.show()
