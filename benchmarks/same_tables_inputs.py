"""The studies that `same_tables.py` runs on: small tables, time series, images, subjects' folders.

All are made here by numpy and pandas, because both revisions must read the same files.
"""

import json
import shutil

import nibabel as nib
import numpy as np
import pandas as pd

REGIONS = ("Frontal_Sup_L", "Frontal_Sup_R", "Hippocampus_L", "Hippocampus_R")
REGIONS += ("Amygdala_L", "Insula_L", "Temporal_Sup_L", "Cuneus_L")
THICKNESS = ("bankssts", "cuneus", "insula", "precuneus", "superiorfrontal")
VOLUMES = ("Left-Thalamus", "Left-Hippocampus", "Right-Thalamus", "Right-Hippocampus")
AFFINE = np.diag([-2.0, 2, 2, 1])


def values(rng, flipped, m=8):
    """Return rows of a chain with more edges. One edge of the chain is flipped in some rows."""
    X = rng.standard_normal((len(flipped), m))
    for j in range(1, m):
        X[:, j] += np.where(flipped & (j == 2), -0.9, 0.9) * X[:, j - 1]
    X[:, 3:] += 0.3 * X[:, :-3]
    return X


def study(seed, n, groups=("control", "patient"), label="dx", regions=REGIONS):
    """Return a table of n subjects with groups, age, sex, eTIV and regions in mm^3."""
    rng = np.random.default_rng(seed)
    dx = np.resize(groups, n)
    frame = pd.DataFrame({"subject_id": [f"sub-{k:03}" for k in range(n)], label: dx})
    frame["age"] = rng.uniform(20, 70, n).round(1)
    frame["sex"] = rng.choice(["F", "M"], n)
    frame["eTIV"] = (1.5e6 + 1e5 * rng.standard_normal(n)).round()
    X = values(rng, dx == groups[-1], len(regions))
    X += 0.02 * frame[["age"]].to_numpy() + 5e-6 * frame[["eTIV"]].to_numpy()
    return pd.concat([frame, pd.DataFrame((4000 + 400 * X).round(2), columns=regions)], axis=1)


def tables(folder):
    study(1, 105, ("control", "mild", "severe")).to_csv(folder / "groups.csv", index=False)
    two = study(2, 140)
    two["site"] = np.resize(["A", "B", "B", "A", "B"], 140)
    two.loc[two["site"] == "B", REGIONS] += 100  # a site moves all regions
    two["Cuneus_L"] = (1000 * np.exp(two["Cuneus_L"] / 2000)).round()  # a curved relation
    two.loc[[7, 20], REGIONS[:4]] *= 1.6  # two outliers
    two.to_csv(folder / "two.csv", index=False)
    two.drop(columns="dx").iloc[::15].to_csv(folder / "new.csv", index=False)
    two.drop(columns="Insula_L").to_csv(folder / "narrow.csv", index=False)
    two.iloc[[0, *range(1, 140, 2)]].to_csv(folder / "single.csv", index=False)
    two.to_csv(folder / "semicolons.csv", sep=";", decimal=",", index=False)
    two.to_csv(folder / "tabs.tsv.gz", sep="\t", index=False)
    two.to_parquet(folder / "two.parquet")
    with pd.ExcelWriter(folder / "two.xlsx") as book:
        pd.DataFrame({"remark": ["see Data"]}).to_excel(book, sheet_name="Info")
        two.to_excel(book, sheet_name="Data", index=False)

    gaps = study(3, 90)
    curve = 800 * np.sin(gaps["age"] / 10)
    gaps[list(REGIONS)] = gaps[list(REGIONS)].add(curve, axis=0).round(2)
    holes = np.random.default_rng(3).random((90, 8))
    gaps[list(REGIONS)] = gaps[list(REGIONS)].mask(holes < 0.03).mask(holes > 0.99, -999)
    gaps["remark"] = "none"
    gaps.to_csv(folder / "gaps.csv", index=False)

    pairs = study(4, 80, ("before", "after"), "visit")
    pairs["person"] = [f"p{k // 2:02}" for k in range(80)]
    pairs.to_csv(folder / "pairs.csv", index=False)

    rows = study(5, 120)
    person = np.arange(120) // 4 * 2 + np.arange(120) % 2  # two sessions in one group
    rows["person"] = [f"p{k:02}" for k in person]
    rows["family"] = [f"f{k:02}" for k in person // 3]  # in both groups
    rows["site"] = np.array(["A", "B", "C"])[person // 6 % 3]
    rows.to_csv(folder / "persons.csv", index=False)

    places = {"region": REGIONS, "lobe": ["frontal"] * 2 + ["limbic"] * 4 + ["temporal", "visual"]}
    places |= {"hemisphere": [name[-1] for name in REGIONS]}
    places |= {"x": [30 if name[-1] == "R" else -30 for name in REGIONS]}
    places |= {"y": range(-60, 20, 10), "z": range(0, 40, 5)}
    pd.DataFrame(places).to_csv(folder / "atlas.csv", index=False)
    # Another study, for the experiments of the paper
    (folder / "data" / "neuro").mkdir(parents=True)
    names = {"cobre_scz": "CTR SCZ", "ixi_age": "YOUNG OLD", "abide1_asd": "CTR ASD"}
    for seed, (name, groups) in enumerate(names.items(), 6):
        real = study(seed, 120, tuple(groups.split()), "group").assign(site="NYU")
        if name != "cobre_scz":
            real["fiq" if "ASD" in groups else "euler_mean"] = (-real["age"]).round()
        real.to_csv(folder / "data" / "neuro" / f"{name}.csv", index=False)


def series(folder):
    """Write time series in three forms, with runs, motion, censored volumes and participants."""
    rng, arrays, names = np.random.default_rng(0), {}, [f"Region {k}" for k in range(5)]
    people = study(9, 24).iloc[:, :4].rename(columns={"subject_id": "participant_id"})
    for subject, group in zip(people["participant_id"], people["dx"], strict=True):
        runs = []
        for run in (1, 2):
            X = values(rng, np.full(70, group == "patient"), 5)
            X[1:] += 0.4 * X[:-1]
            runs.append(X.round(4))
            table = pd.DataFrame(runs[-1], columns=names)
            table.iloc[30:33] = np.nan  # censored volumes
            stem = folder / "bids" / subject / "func" / f"{subject}_task-rest_run-{run}"
            stem.parent.mkdir(parents=True, exist_ok=True)
            table.to_csv(f"{stem}_seg-A_timeseries.tsv", sep="\t", index=False, na_rep="n/a")
            motion = pd.DataFrame({"framewise_displacement": rng.gamma(2, 0.1, 70).round(4)})
            motion.to_csv(f"{stem}_motion.tsv", sep="\t", index=False)
        arrays[subject] = np.concatenate(runs)
    (folder / "bids" / "task-rest_bold.json").write_text(json.dumps({"RepetitionTime": 2.0}))
    people.to_csv(folder / "bids" / "participants.tsv", sep="\t", index=False)
    np.savez(folder / "series.npz", **arrays)
    parts = [pd.DataFrame(X, columns=names) for X in arrays.values()]
    long = pd.concat(parts, keys=arrays, names=["participant_id", "volume"]).reset_index()
    long.merge(people).to_csv(folder / "long.csv", index=False)


def freesurfer_tables(folder):
    """Write tables as aparcstats2table and asegstats2table do, and their participants."""
    people = study(10, 70)
    rng, flipped = np.random.default_rng(10), (people["dx"] == "patient").to_numpy()
    for side in ("lh", "rh"):
        table = pd.DataFrame(2 + 0.1 * values(rng, flipped, 5)).round(3)
        table.columns = [f"{side}_{name}_thickness" for name in THICKNESS]
        table.insert(0, f"{side}.aparc.thickness", people["subject_id"])
        table[f"{side}_MeanThickness_thickness"] = table.iloc[:, 1:].mean(axis=1).round(3)
        table.to_csv(folder / f"{side}.txt", sep="\t", index=False)
    table = pd.DataFrame(4000 + 400 * values(rng, flipped, 4), columns=VOLUMES).round(1)
    table["EstimatedTotalIntraCranialVol"] = people["eTIV"]
    table.insert(0, "Measure:volume", people["subject_id"])
    table.T.to_csv(folder / "aseg.txt", sep="\t", header=False)
    people.rename(columns={"subject_id": "participant_id"}).to_csv(
        folder / "participants.tsv", sep="\t", columns=["participant_id", "dx", "age"], index=False
    )


def images(folder):
    """Write images of tissue and of time series, and a label image with its names."""
    rng, labels = np.random.default_rng(11), np.zeros((8, 8, 8))
    labels[:3], labels[3:6], labels[6:] = 1, 2, 3

    def save(name, data):
        (folder / name).parent.mkdir(exist_ok=True)
        nib.save(nib.Nifti1Image(data.astype(np.float32), AFFINE), folder / name)

    save("labels.nii.gz", labels)
    (folder / "labels.csv").write_text("index,name\n1,L hippocampus\n2,G&S\n3,insula\n")
    for k in range(12):
        data = 0.5 + 0.01 * rng.random((8, 8, 8)) + 0.02 * rng.random()
        save(f"maps/sub-{k:03}_probseg.nii.gz", data * (3 if k == 5 else 1))
        save(f"bold/sub-{k:03}_bold.nii.gz", 100 + rng.standard_normal((8, 8, 8, 30)))
    (folder / "bad").mkdir()
    shutil.copy(
        folder / "maps" / "sub-000_probseg.nii.gz", folder / "bad" / "sub-090_probseg.nii.gz"
    )
    (folder / "bad" / "sub-091_probseg.nii.gz").write_bytes(b"no image")


def subjects(folder):
    """Write folders of FreeSurfer and CAT12, with one subject that lacks a file."""
    rng = np.random.default_rng(12)
    for k in range(12):
        stats = folder / "subjects" / f"sub-{k:03}" / "stats"
        stats.mkdir(parents=True)
        etiv = "# Measure EstimatedTotalIntraCranialVol, eTIV, Estimated Total Intracranial Volume"
        head = f"# cvs_version 7.4.1\n# subjectname sub-{k:03}\n{etiv}, {1.5e6 + k}, mm^3\n"
        for side in ("lh", "rh"):
            columns = "# ColHeaders StructName NumVert SurfArea GrayVol ThickAvg ThickStd\n"
            lines = [
                f"{name} 1069 {700 + k} {1700 + k} {t:.3f} 0.5\n"
                for name, t in zip(THICKNESS, 2 + rng.random(5), strict=True)
            ]
            text = f"{head}# anatomy_type surface\n# hemi {side}\n{columns}{''.join(lines)}"
            (stats / f"{side}.aparc.stats").write_text(text)
        lines = [
            f"{row} {row} 100 {v:.1f} {name} 27.3 15.4 0.0 88.0 88.0\n"
            for row, (name, v) in enumerate(zip(VOLUMES, 3000 * rng.random(4), strict=True), 1)
        ]
        holes = "".join(
            f"# Measure {side}SurfaceHoles, {side}SurfaceHoles, Holes, {k + 20}, unitless\n"
            for side in ("lh", "rh")
        )
        columns = "# ColHeaders Index SegId NVoxels Volume_mm3 StructName normMean normStdDev "
        text = f"{head}{holes}{columns}normMin normMax normRange\n{''.join(lines)}"
        if k != 3:
            (stats / "aseg.stats").write_text(f"# anatomy_type volume\n{text}")
        for name, measure, regions in (
            (
                "catROI",
                "Vgm",
                ("Right Hippocampus", "Left Hippocampus", "Left AIns anterior insula"),
            ),
            ("catROIs", "thickness", ("lbankssts", "rbankssts", "linsula")),
        ):
            atlas = "neuromorphometrics" if measure == "Vgm" else "aparc_DK40"
            items = "".join(f"<item>{region}</item>" for region in regions)
            numbers = ";".join(f"{v:.5f}" for v in 2 + rng.random(3))
            path = folder / "cat12" / "label" / f"{name}_sub-{k:03}.xml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                f'<?xml version="1.0"?>\n<S><{atlas}><ids>[47;48;103]</ids><names>{items}</names>'
                f"<data><{measure}>[{numbers}]</{measure}></data></{atlas}></S>\n"
            )
    (folder / "subjects" / "fsaverage" / "stats").mkdir(parents=True)


def write_inputs(folder, ixi):
    """Write all studies to a new folder, and copy the table of IXI if there is one."""
    folder.mkdir(parents=True)
    for write in (tables, series, freesurfer_tables, images, subjects):
        write(folder)
    if ixi.exists():
        shutil.copy(ixi, folder)
