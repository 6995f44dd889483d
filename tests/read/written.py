"""Subjects folders in the layouts of FreeSurfer, FastSurfer and CAT12, with numbers of our own.

Headers and columns are those of real files (FreeSurfer 7.0 ``aseg.stats`` and ``lh.aparc.stats``;
``segstats.py`` of FastSurfer 2; ``cat_roi_fun.m`` and ``cat_io_xml.m`` of CAT12.8).
"""

from functools import cache

import numpy as np

from sgbn.cohort.atlas import load_atlas

SIDES = ("lh", "rh")
APARC_COLUMNS = (
    "StructName NumVert SurfArea GrayVol ThickAvg ThickStd MeanCurv GausCurv FoldInd CurvInd"
)
ASEG_COLUMNS = (
    "Index SegId NVoxels Volume_mm3 StructName normMean normStdDev normMin normMax normRange"
)
REGIONS = [
    region.name.removeprefix("lh_")
    for region in load_atlas("desikan_killiany").regions
    if region.name.startswith("lh_")
]
STRUCTURES = [
    *("Left-Lateral-Ventricle", "Left-Thalamus", "Left-Caudate", "Left-Hippocampus", "Left-vessel"),
    *("Right-Lateral-Ventricle", "Right-Thalamus", "Right-Caudate", "Right-Hippocampus"),
    *("Brain-Stem", "CSF", "5th-Ventricle", "WM-hypointensities", "CC_Central"),
]
EMPTY = ("Left-vessel", "5th-Ventricle")
VERSION = "7.4.1"
STAMP = "freesurfer-linux-centos7_x86_64-7.4.1-20230614-7eb8460"


@cache  # most tests write the same subjects
def numbers(name, n=3):
    """Numbers between 1 and 2 that only the name decides."""
    drawn = 1 + np.random.default_rng(list(name.encode())).random(n)
    drawn.setflags(write=False)  # each caller has the same array
    return drawn


def aparc(subject, side, regions=REGIONS, version=VERSION):
    """Text of a parcellation's file."""
    head = [
        "# Table of FreeSurfer cortical parcellation anatomical statistics ",
        "# ",
        "# CreationTime 2024/01/02-03:04:05-GMT",
        "# generating_program mris_anatomical_stats",
        f"# cvs_version {version}",
        f"# mrisurf.c-cvs_version {version}",
        "# anatomy_type surface",
        f"# subjectname {subject}",
        f"# hemi {side}",
        "# Measure Cortex, NumVert, Number of Vertices, 118968, unitless",
        "# Measure Cortex, WhiteSurfArea, White Surface Total Area, 84858.5, mm^2",
        "# Measure Cortex, MeanThickness, Mean Thickness, 2.39891, mm",
        "# Measure EstimatedTotalIntraCranialVol, eTIV, Estimated Total Intracranial Volume, "
        f"{1e6 * numbers(subject)[0]:f}, mm^3",
        "# NTableCols 10",
        "# TableCol  1 ColHeader StructName",
        f"# ColHeaders {APARC_COLUMNS}",
    ]
    body = []
    for region in regions:
        area, volume, thick = numbers(f"{subject} {side} {region}")
        body.append(
            f"{region:<40} 1069 {1000 * area:6.0f} {2000 * volume:6.0f} {2 * thick:6.3f} 0.501"
            "     0.109     0.021        7     1.0"
        )
    return "\n".join([*head, *body]) + "\n"


def aseg(subject, structures=STRUCTURES, *, holes=(24, 25), etiv=True, version=VERSION):
    """Text of aseg.stats as mri_segstats of FreeSurfer writes it."""
    head = [
        "# Title Segmentation Statistics ",
        "# ",
        "# generating_program mri_segstats",
        f"# cvs_version {version}",
        "# anatomy_type volume",
        f"# subjectname {subject}",
        "# Measure BrainSeg, BrainSegVol, Brain Segmentation Volume, 1169408.000000, mm^3",
        "# Measure lhCortex, lhCortexVol, Left hemisphere cortical gray matter volume, "
        "232345.220912, mm^3",
    ]
    if holes is not None:
        head += [
            f"# Measure {side}SurfaceHoles, {side}SurfaceHoles, Number of defect holes in {side} "
            f"surfaces prior to fixing, {count}, unitless"
            for side, count in zip(SIDES, holes, strict=True)
        ]
        head.append(
            "# Measure SurfaceHoles, SurfaceHoles, Total number of defect holes in surfaces prior "
            f"to fixing, {sum(holes)}, unitless"
        )
    if etiv:
        head.append(
            "# Measure EstimatedTotalIntraCranialVol, eTIV, Estimated Total Intracranial Volume, "
            f"{1e6 * numbers(subject)[0]:f}, mm^3"
        )
    return _volumes(subject, structures, head)


def segstats(subject, structures, version="2.4.2+4eb1b0a"):
    """Text of a file that segstats.py of FastSurfer writes."""
    head = [
        "# Title Segmentation Statistics",
        "#",
        "# generating_program segstats.py",
        *([f"# FastSurfer_version {version}"] if version else []),
        "# anatomy_type volume",
        "#",
        "# Measure Mask, MaskVol, Mask Volume, 1686052.000000, mm^3",
    ]
    return _volumes(subject, structures, head)


def _volumes(subject, structures, head):
    body = []
    for k, name in enumerate(structures, start=1):
        volume = 0.0 if name in EMPTY else 3000 * numbers(f"{subject} {name}")[0]
        body.append(
            f"{k:3} {k:3} {volume:9.0f} {volume:10.1f}  {name:<32} 27.3 15.4 0.0 88.0 88.0 "
        )
    head = [*head, f"# NRows {len(body)} ", "# NTableCols 10 ", f"# ColHeaders  {ASEG_COLUMNS}  "]
    return "\n".join([*head, *body]) + "\n"


def nuclei(subject, names, title):
    """Text of a table of nuclei or subfields: one comment and five cells per line."""
    rows = [
        f"{k} {k}  0 {100 * numbers(f'{subject} {n}')[0]:f} {n}" for k, n in enumerate(names, 1)
    ]
    return "\n".join([f"# {title} volume statistics", *rows]) + "\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def write_freesurfer(folder, subject, parcellation="aparc", regions=REGIONS, **of_aseg):
    """Folder of one subject of FreeSurfer; `subject` may have a session below."""
    stats = folder / subject / "stats"
    for side in SIDES:
        write(stats / f"{side}.{parcellation}.stats", aparc(subject, side, regions))
    write(stats / "aseg.stats", aseg(subject, **of_aseg))
    write(folder / subject / "scripts" / "build-stamp.txt", f"{STAMP}\n")
    (folder / subject / "mri").mkdir(exist_ok=True)
    return folder / subject


def write_seg_only(folder, subject, version="2.4.2+4eb1b0a"):
    """Folder of one subject of FastSurfer without surfaces."""
    cortex = [
        f"ctx-{side}-{region}" for side in SIDES for region in REGIONS if region != "bankssts"
    ]
    text = segstats(subject, [*STRUCTURES, *cortex], version)
    write(folder / subject / "stats" / "aseg+DKT.VINN.stats", text)
    write(folder / subject / "scripts" / "deep-seg.log", "done\n")
    return folder / subject


def cat_roi(atlases):
    """Text of a file of regions of CAT12: atlas -> (ids, names, measure -> values)."""
    parts = []
    for atlas, (ids, names, data) in atlases.items():
        items = "".join(f"<item>{name}</item>" for name in names)
        lists = "".join(
            f"<{measure}>[{';'.join(map(_matlab, values))}]</{measure}>"
            for measure, values in data.items()
        )
        parts.append(
            f"<{atlas}><ids>[{';'.join(map(str, ids))}]</ids><names>{items}</names>"
            f"<version>2170</version><data>{lists}</data></{atlas}>"
        )
    return f'<?xml version="1.0" encoding="utf-8"?>\n<S>{"".join(parts)}</S>\n'


def _matlab(value):
    return "NaN" if np.isnan(value) else f"{value:.6g}"


def cat_report(subject, version="12.8.2"):
    """Text of a report of CAT12."""
    tiv = 1400 * numbers(subject)[0]
    return (
        f'<?xml version="1.0"?>\n<S><software><version_cat>{version}</version_cat>'
        f"<revision_cat>2170</revision_cat></software><qualitymeasures><NCR>0.1</NCR></qualitymeasures>"
        f"<qualityratings><res_RMS>1.9</res_RMS><NCR>2.1</NCR><ICR>1.8</ICR><IQR>2.25</IQR>"
        f"</qualityratings><subjectmeasures><EC_abs>12.5</EC_abs><defect_size>1.5</defect_size>"
        f"<vol_TIV>{tiv:.4f}</vol_TIV><vol_abs_CGW>[300 600 500 3 0]</vol_abs_CGW>"
        f"</subjectmeasures></S>\n"
    )


VOLUME_NAMES = (
    "3rd Ventricle",
    "Right Hippocampus",
    "Left Hippocampus",
    "Left AIns anterior insula",
)
SURFACE_NAMES = ("lunknown", "lbankssts", "rbankssts", "linsula", "rinsula")


def write_cat12(folder, subject, surfaces=True, report=True):
    """Files of one image in the folders `label` and `report` of CAT12."""
    vgm = [np.nan, *4 * numbers(f"{subject} Vgm")]
    data = {"Vgm": vgm, "Vwm": np.array(vgm) / 10, "Vcsf": [1.0, 0.1, 0.1, 0.2]}
    regions = {"neuromorphometrics": ((4, 47, 48, 103), VOLUME_NAMES, data)}
    write(folder / "label" / f"catROI_{subject}.xml", cat_roi(regions))
    if surfaces:
        thick = [np.nan, *2 * numbers(f"{subject} thickness", 4)]
        regions = {"aparc_DK40": ((0, 1, 2, 3, 4), SURFACE_NAMES, {"thickness": thick})}
        write(folder / "label" / f"catROIs_{subject}.xml", cat_roi(regions))
    if report:
        write(folder / "report" / f"cat_{subject}.xml", cat_report(subject))
