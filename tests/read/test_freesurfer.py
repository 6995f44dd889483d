import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.codes import refused

from sgbn.core.problems import InputError
from sgbn.read.freesurfer import (
    MAX_BYTES,
    NUCLEI,
    VOXELS,
    Parcellation,
    Request,
    choose_aseg,
    choose_parcellation,
    choose_segmentation,
    make_plan,
    names_of,
    parcellation_atlas,
    parcellations,
    parse_stats,
    preferred,
    read_stats,
    read_subject,
    stats_names,
)
from sgbn.read.subject_folders import SubjectRow, find_folders

from .written import (
    REGIONS,
    STRUCTURES,
    aparc,
    aseg,
    nuclei,
    segstats,
    write,
    write_freesurfer,
    write_seg_only,
)

NO_REGIONS = {"Left-vessel", "5th-Ventricle", "WM-hypointensities"}


def read(folder, subject=None, **request):
    subjects = find_folders(folder).subjects
    plan = make_plan(Request(**request), [names_of(one) for one in subjects], folder)
    chosen = next(one for one in subjects if subject in (None, one.id))
    return read_subject(chosen, plan)


@pytest.mark.parametrize(
    ("measure", "column"), [("thickness", "ThickAvg"), ("volume", "GrayVol"), ("area", "SurfArea")]
)
def test_regions_are_named_as_aparcstats2table_names_them(tmp_path, measure, column):
    write_freesurfer(tmp_path, "s1")
    found = read(tmp_path, measure=measure)
    stats = parse_stats(aparc("s1", "rh").encode(), "")
    assert found.regions[f"rh_insula_{measure}"] == stats.values(column, "")["insula"]
    cortex = [name for name in found.regions if name.endswith(f"_{measure}")]
    assert cortex == [f"{side}_{name}_{measure}" for side in ("lh", "rh") for name in REGIONS]


def test_subcortical_volumes_totals_and_labels_that_are_no_regions(tmp_path):
    write_freesurfer(tmp_path, "s1")
    found = read(tmp_path)
    volumes = parse_stats(aseg("s1").encode(), "").values("Volume_mm3", "")
    assert {name: found.regions.get(name) for name in STRUCTURES if name not in NO_REGIONS} == {
        name: volumes[name] for name in STRUCTURES if name not in NO_REGIONS
    }
    assert set(found.totals) > NO_REGIONS
    assert found.totals["lh_MeanThickness_thickness"] == 2.39891
    assert found.totals["eTIV"] == found.quality["eTIV"]
    assert "NumVert" not in found.totals
    alone = read(tmp_path, aseg=False)
    assert not set(STRUCTURES) & set(alone.regions)
    assert alone.totals["eTIV"] == found.totals["eTIV"]


def test_holes_are_euler_numbers(tmp_path):
    write_freesurfer(tmp_path, "s1", holes=(24, 0))
    quality = read(tmp_path).quality
    assert (quality["lh_euler"], quality["rh_euler"], quality["mean_euler"]) == (-46, 2, -22)
    assert (quality["euler_from"], quality["missing"]) == ("aseg.stats", "")


def test_euler_numbers_of_the_log_stand_in_the_last_run(tmp_path):
    folder = write_freesurfer(tmp_path, "s1", holes=None)
    line = "orig.nofix lheno = {:4}, rheno = {}\n"
    write(folder / "scripts" / "recon-all.log", line.format(-1, -3) + line.format(-118, -62))
    quality = read(tmp_path).quality
    assert (quality["lh_euler"], quality["rh_euler"]) == (-118, -62)
    assert quality["euler_from"] == "recon-all.log"


def test_what_fastsurfer_without_surfaces_lacks_is_said_and_not_made_up(tmp_path):
    write_seg_only(tmp_path, "s1")
    found = read(tmp_path)
    assert isinstance(found, SubjectRow)
    assert "lh_insula_volume" in found.regions
    assert "Left-Hippocampus" in found.regions
    assert found.quality["missing"] == "eTIV; Euler number"
    assert found.quality["mean_euler"] is None
    assert found.quality["software"] == "FastSurfer 2.4.2+4eb1b0a"
    write_seg_only(tmp_path, "s1", version="")  # the log shows the tool without its version
    assert read(tmp_path).quality["software"] == "FastSurfer (version not said)"


@pytest.mark.parametrize(
    ("stamp", "version"),
    [
        ("freesurfer-Linux-centos6_x86_64-stable-pub-v6.0.0-2beb96c", "6.0.0"),
        ("freesurfer-linux-ubuntu22_x86_64-7.4.1-20230614-7eb8460", "7.4.1"),
        ("freesurfer-linux-ubuntu22_x86_64-8.0.0-20250210-5c6e8f4", "8.0.0"),
        ("something else", "7.4.1"),  # as the header of the tables says
    ],
)
def test_versions_of_freesurfer(tmp_path, stamp, version):
    folder = write_freesurfer(tmp_path, "s1")
    write(folder / "scripts" / "build-stamp.txt", stamp)
    assert read(tmp_path).quality["software"] == f"FreeSurfer {version}"


def test_fastsurfer_with_surfaces_names_both_tools(tmp_path):
    folder = write_freesurfer(tmp_path, "s1", "aparc.DKTatlas.mapped")
    write(folder / "stats" / "aseg.stats", segstats("s1", STRUCTURES))
    found = read(tmp_path)
    assert found.quality["software"] == "FastSurfer 2.4.2+4eb1b0a, FreeSurfer 7.4.1"
    assert "rh_insula_thickness" in found.regions


def test_further_segmentations_are_named_after_their_structure(tmp_path):
    folder = write_freesurfer(tmp_path, "s1") / "stats"
    for side in ("lh", "rh"):
        text = nuclei("s1", ["AV", "MV(Re)", "Whole_thalamus"], "Thalamic nuclei")
        write(folder / f"thalamic-nuclei.{side}.v13.T1.stats", text)
    write(folder / "hypothalamus.HypVINN.stats", segstats("s1", ["L-Fornix", "R-N.opticus"]))
    asked = {"aseg": False, "segmentations": ("thalamus", "hypothalamus")}
    found = [name for name in read(tmp_path, **asked).regions if "thickness" not in name]
    assert found == [
        *("thalamus_Left-AV", "thalamus_Left-MV(Re)", "thalamus_Right-AV", "thalamus_Right-MV(Re)"),
        *("hypothalamus_L-Fornix", "hypothalamus_R-N.opticus"),
    ]


def test_reasons_of_failures(tmp_path):
    for name in ("ok1", "ok2", "ok3", "error", "running", "absent", "cut", "damaged"):
        write_freesurfer(tmp_path, name)
    (tmp_path / "none" / "mri").mkdir(parents=True)
    write(tmp_path / "error" / "scripts" / "recon-all.error", "")
    write(tmp_path / "running" / "scripts" / "IsRunning.lh+rh", "")
    (tmp_path / "absent" / "stats" / "rh.aparc.stats").unlink()
    for name, end in (("cut", -1), ("damaged", -30)):
        text = (tmp_path / name / "stats" / "aseg.stats").read_text()
        write(tmp_path / name / "stats" / "aseg.stats", text[:end] + ("" if end == -1 else "\n"))
    assert isinstance(read(tmp_path, "ok1"), SubjectRow)
    codes = {"none": "no-stats", "error": "error", "running": "running", "absent": "no-table"}
    expected = {name: f"subject.{code}" for name, code in codes.items()}
    expected |= {"cut": "stats.damaged", "damaged": "stats.cells"}
    assert {name: read(tmp_path, name).reason.code for name in expected} == expected


def test_a_link_whose_target_is_gone_is_no_file(tmp_path):
    folder = write_seg_only(tmp_path, "s1")
    (folder / "stats" / "aseg+DKT.stats").symlink_to(tmp_path / "gone")
    assert read(tmp_path).regions["lh_insula_volume"] > 0


def test_labels_that_are_no_cortex_are_left_out(tmp_path):
    names = ["Background+FreeSurfer_Defined_Medial_Wall", "7Networks_LH_Vis_1", "L_???_ROI", "???"]
    write_freesurfer(tmp_path, "s1", "Schaefer2018_100Parcels_7Networks_order", names)
    cortex = list(read(tmp_path, aseg=False).regions)
    assert cortex == ["lh_7Networks_LH_Vis_1_thickness", "rh_7Networks_LH_Vis_1_thickness"]


APARC = aparc("s1", "lh").encode()
ASEG = aseg("s1").encode()
FREESURFER = stats_names(
    [
        *(f"{side}.{name}.stats" for side in ("lh", "rh") for name in ("aparc", "aparc.a2009s")),
        *("lh.aparc.DKTatlas.stats", "rh.aparc.DKTatlas.stats", "lh.curv.stats"),
        *("lh.w-g.pct.stats", "aseg.stats", "wmparc.stats", "aseg.stats.bak"),
        *(f"thalamic-nuclei.{side}.v13.T1.stats" for side in ("lh", "rh")),
        "brainstem.v13.stats",
    ]
)
FASTSURFER = stats_names(
    [
        *("lh.aparc.DKTatlas.mapped.stats", "rh.aparc.DKTatlas.mapped.stats", "aseg.stats"),
        *("aseg+DKT.VINN.stats", "aseg.VINN.stats", "hypothalamus.HypVINN.stats"),
    ]
)
SEG_ONLY = stats_names(["aseg+DKT.stats", "aseg.VINN.stats", "cerebellum.CerebNet.stats"])


def test_parcellations_stand_in_order_of_preference():
    found = parcellations([FREESURFER, FREESURFER, FASTSURFER])
    names = ["aparc", "aparc.DKTatlas", "aparc.DKTatlas.mapped", "aparc.a2009s", "aseg+DKT.VINN"]
    assert list(found) == names
    assert found["aparc"] == 2


@pytest.mark.parametrize(
    ("asked", "measure", "subjects", "name"),
    [
        (None, None, [FREESURFER], "aparc"),
        (None, None, [FASTSURFER], "aparc.DKTatlas.mapped"),
        (None, None, [SEG_ONLY], "aseg+DKT"),
        (None, "thickness", [FASTSURFER, SEG_ONLY, SEG_ONLY], "aparc.DKTatlas.mapped"),
        ("DKT", None, [FREESURFER], "aparc.DKTatlas"),
        ("DKT", None, [FASTSURFER], "aparc.DKTatlas.mapped"),
        ("destrieux", None, [FREESURFER], "aparc.a2009s"),
        ("aseg+DKT.VINN", "volume", [FASTSURFER], "aseg+DKT.VINN"),
        ("mine", None, [{"lh.mine", "rh.mine"}], "mine"),
        (None, None, [{"lh.mine", "rh.mine"}], "mine"),
        (None, None, [FREESURFER, FREESURFER, SEG_ONLY], "aparc"),
        (None, None, [FREESURFER, SEG_ONLY, SEG_ONLY], "aseg+DKT"),
    ],
)
def test_one_parcellation_is_chosen_for_all(asked, measure, subjects, name):
    chosen = choose_parcellation(asked, measure, [frozenset(one) for one in subjects])
    assert chosen == Parcellation(name, not name.startswith("aseg"))


@pytest.mark.parametrize(
    ("name", "atlas"),
    [
        ("aparc", "desikan_killiany"),
        ("aparc.DKTatlas", "dkt"),
        ("aparc.DKTatlas.mapped", "dkt"),
        *((name, "dkt") for name in VOXELS),
        ("aparc.a2009s", "destrieux"),
        ("Schaefer2018_200Parcels_7Networks_order", "schaefer_200_7"),
        ("aparc_DK40", "desikan_killiany"),
        ("aparc_HCP_MMP1", "glasser"),
        ("neuromorphometrics", "neuromorphometrics"),
        *((name, None) for name in (None, "BA_exvivo", "cobra")),
    ],
)
def test_parcellations_have_their_atlas(name, atlas):
    assert getattr(parcellation_atlas(name), "name", None) == atlas


def test_files_of_a_parcellation():
    assert Parcellation("aparc", True).files == ("lh.aparc", "rh.aparc")
    assert Parcellation("aseg+DKT", False).files == ("aseg+DKT",)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: choose_parcellation("aparc.a209s", None, [FREESURFER]), "parcellation.absent"),
        (lambda: choose_parcellation(None, "thickness", [SEG_ONLY]), "measure.absent"),
        (lambda: choose_segmentation("thalamus", [SEG_ONLY]), "segmentations.absent"),
        (lambda: make_plan(Request(), [{"wmparc"}], "folder"), "folder.no-tables"),
        (lambda: make_plan(Request(measure="width"), [SEG_ONLY], "folder"), "argument"),
        (
            lambda: make_plan(Request(segmentations=("thalamos",)), [SEG_ONLY], "folder"),
            "segmentations.unknown",
        ),
        (
            lambda: parse_stats(APARC.replace(b"1069", b"1_0"), "").values("NumVert", ""),
            "stats.number",
        ),
        (lambda: parse_stats(APARC, "x").values("Volume_mm3", "x"), "stats.column"),
        (lambda: read_stats(Path("gone.stats")), "file.absent"),
        (lambda: read_stats(Path()), "file.folder"),
    ],
)
def test_what_nobody_has_is_an_error(call, code):
    with refused(code):
        call()


def test_volumes_after_surfaces_are_preferred():
    assert choose_parcellation(None, None, [frozenset({"aseg"})]) is None
    assert choose_aseg([frozenset({"lh.aparc"})]) is None
    assert choose_aseg([FREESURFER]) == choose_aseg([FASTSURFER]) == "aseg"
    assert choose_aseg([FASTSURFER, SEG_ONLY, SEG_ONLY]) == "aseg.VINN"


def test_segmentations_have_one_file_or_one_per_side():
    sides = ("thalamic-nuclei.lh.v13.T1", "thalamic-nuclei.rh.v13.T1")
    assert choose_segmentation("thalamus", [FREESURFER]) == sides
    assert choose_segmentation("brainstem", [FREESURFER]) == ("brainstem.v13",)
    assert choose_segmentation("hypothalamus", [FASTSURFER]) == ("hypothalamus.HypVINN",)
    assert choose_segmentation("cerebellum", [SEG_ONLY]) == ("cerebellum.CerebNet",)
    old, new = (frozenset({f"brainstem.v{k}"}) for k in (12, 13))
    assert choose_segmentation("brainstem", [old, new]) == ("brainstem.v13",)
    assert choose_segmentation("brainstem", [old, old, new]) == ("brainstem.v12",)


def test_preferred_is_the_first_of_half_else_the_most_frequent():
    assert preferred({"a": 2, "b": 4}, ["a", "b"], 4) == "a"
    assert preferred({"a": 1, "b": 1, "c": 2}, ["a", "b", "c"], 5) == "c"
    assert preferred({"a": 1, "b": 1}, ["a", "b"], 5) == "a"


def test_a_parcellation_has_all_its_regions_and_columns():
    stats = parse_stats(APARC, "lh.aparc.stats")
    assert list(stats.rows) == REGIONS
    assert stats.values("ThickAvg", "")["insula"] == float(stats.rows["insula"][4])
    assert stats.values("GrayVol", "")["insula"] == float(stats.rows["insula"][3])
    assert stats.totals["MeanThickness"] == 2.39891
    assert stats.header["cvs_version"] == "7.4.1"


def test_volumes_have_their_structures_and_totals():
    stats = parse_stats(ASEG, "aseg.stats")
    assert list(stats.rows) == STRUCTURES
    assert stats.values("Volume_mm3", "")["5th-Ventricle"] == 0
    assert stats.totals["lhSurfaceHoles"] == 24
    assert stats.totals["BrainSegVol"] == 1169408
    assert 1e6 < stats.totals["eTIV"] < 2e6
    stats = parse_stats(segstats("s1", STRUCTURES).encode(), "aseg.VINN.stats")
    assert stats.header["FastSurfer_version"] == "2.4.2+4eb1b0a"
    assert list(stats.rows) == STRUCTURES


def test_nuclei_have_five_cells_and_no_header():
    stats = parse_stats(nuclei("s1", ["AV", "LGN", "MV(Re)"], "Left Thalamic nuclei").encode(), "x")
    assert stats.columns == NUCLEI
    assert list(stats.values("Volume_mm3", "x")) == ["AV", "LGN", "MV(Re)"]


def test_comments_need_not_be_utf_8_and_lines_may_end_as_in_windows():
    content = ASEG.replace(b"# subjectname s1", "# user  Jérôme".encode("latin-1"))
    assert list(parse_stats(content, "x").rows) == STRUCTURES
    assert list(parse_stats(content.replace(b"\n", b"\r\n"), "x").rows) == STRUCTURES


def test_a_total_that_is_no_finite_number_is_no_total():
    content = aseg("s1", etiv=False).replace("24, unitless", "nan, unitless")
    assert not {"eTIV", "lhSurfaceHoles"} & set(parse_stats(content.encode(), "x").totals)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "stats.damaged"),
        (b"# a comment\n", "stats.no-table"),
        (APARC[:-1], "stats.damaged"),
        (APARC.replace(b"  0.109     0.021        7     1.0\n", b"\n", 1), "stats.cells"),
        (APARC.replace(b"# ColHeaders", b"# Col"), "stats.cells"),
        (ASEG.replace(b"# NRows 14", b"# NRows 45"), "stats.count"),
        (ASEG.replace(b"Left-Caudate ", b"Left-Thalamus"), "stats.twice"),
        (ASEG.replace(b", 24, unitless", b", many, unitless"), "stats.number"),
        (ASEG.replace(b"BrainSegVol, Brain Segmentation Volume, ", b""), "stats.cells"),
        (ASEG + b"\0\n", "stats.damaged"),
    ],
)
def test_damage_is_named(content, code):
    with refused(code):
        parse_stats(content, "x")


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = write(tmp_path / "aseg.stats", "")
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with refused("file.large"):
        read_stats(path)


@given(st.integers(0, len(ASEG) - 1))
@settings(max_examples=settings.default.max_examples // 10)
def test_a_file_that_ends_anywhere_is_an_error(end):
    with pytest.raises(InputError):
        parse_stats(ASEG[:end], "x")


@given(st.binary(max_size=200), st.integers(0, len(APARC)))
@settings(max_examples=settings.default.max_examples // 10)
def test_bytes_anywhere_give_a_table_or_an_error_that_names_the_file(damage, place):
    try:
        said = list(parse_stats(APARC[:place] + damage + APARC[place:], "lh.aparc.stats").rows)
    except InputError as error:
        said = re.findall(r"lh\.aparc\.stats", str(error))
    assert said
