"""
From FreeSurfer's tables
========================

``aparcstats2table`` and ``asegstats2table`` write one table per hemisphere and one of the volumes
below the cortex. ``read_freesurfer`` joins them by subject, with the table of participants.
"""

# %%
# The tables
# ----------
# We make tables in FreeSurfer's form. The first column has the subjects, under its own title.
# Totals such as the mean thickness are at the end.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sgbn
from sgbn.inference.regional import regional_differences
from sgbn.write.draw.brain import plot_glass_brain
from sgbn.write.draw.surface import plot_surface

folder = Path(tempfile.mkdtemp())
atlas = sgbn.load_atlas("desikan_killiany")
cortex = [r.name for r in atlas.regions if r.lobe in ("temporal", "parietal", "cingulate")]
truth = sgbn.simulate_cohort(120, atlas=atlas, regions=cortex, differ="edges")
mm = 2.5 + 0.15 * (truth.values - truth.values.mean(axis=0)) / truth.values.std(axis=0)
ids = [f"sub-{k:03d}" for k in range(len(truth))]
print(truth.regions[:4])

for side in ("lh", "rh"):
    columns = [k for k, place in enumerate(truth.places) if place.hemisphere == side[0].upper()]
    table = pd.DataFrame({f"{side}.aparc.thickness": ids})
    for k in columns:
        plain = truth.regions[k].removeprefix(f"{side}_")
        table[f"{side}_{plain}_thickness"] = mm[:, k].round(3)
    table[f"{side}_MeanThickness_thickness"] = mm[:, columns].mean(axis=1).round(3)
    table.to_csv(folder / f"{side}.thickness.txt", sep="\t", index=False)

people = pd.DataFrame({"participant_id": ids, "diagnosis": truth.group})
people.sample(frac=1, random_state=0).to_csv(folder / "participants.tsv", sep="\t", index=False)
print((folder / "lh.thickness.txt").read_text().splitlines()[0][:90], "...")

# %%
# Read them
# ---------
# Rows may be in any order. The mean thickness is a total. It is left out, because it contains all
# regions at once.

cohort = sgbn.read_freesurfer(
    folder / "lh.thickness.txt",
    folder / "rh.thickness.txt",
    participants=folder / "participants.tsv",
    group="diagnosis",
)
print(cohort.summary())

# %%
# Each region has its place
# -------------------------
# The names were found in the Desikan-Killiany atlas. So every region has a hemisphere, a lobe and
# MNI coordinates.

learner = sgbn.SGBNEnsemble(n_chains=20, n_pairs=10).fit(cohort.of_group("control"))
places = np.array([[place.x, place.y, place.z] for place in cohort.places])
fig = plt.figure(figsize=(10, 5.5))
plot_glass_brain(
    fig,
    learner.coef_std_,
    places,
    supported=learner.supported_,
    title="Controls: cortical thickness, one network",
)
plt.show()

# %%
# On the cortex
# -------------
# The Desikan-Killiany atlas has a surface too. It shows how much each region differs in its mean.
# The lobes that we left out are grey. Regions with q of at most 0.05 would have an outline.

regional = regional_differences(cohort)
plot_surface(
    plt.figure(figsize=(7.2, 5.6)),
    regional["hedges_g"],
    regional["region"],
    "desikan_killiany",
    marked=regional["q"] <= 0.05,
    label="Hedges' g (standard deviations within the groups)",
    title="Means of regions: patient minus control",
)
plt.show()
