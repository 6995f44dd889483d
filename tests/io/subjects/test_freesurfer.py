import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.freesurfer import Request, make_plan, names_of, parse_stats, read_subject
from sgbn.read.subject_folders import Failure, SubjectRow, find_folders

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
    plan = make_plan(Request(**request), [names_of(one) for one in subjects], "folder")
    chosen = next(one for one in subjects if subject in (None, one.id))
    return read_subject(chosen, plan)


def reason(folder, subject, **request):
    found = read(folder, subject, **request)
    assert isinstance(found, Failure)
    return found.reason


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
    assert found.software == "FastSurfer 2.4.2+4eb1b0a"


def test_the_log_of_fastsurfer_shows_the_tool_without_its_version(tmp_path):
    write_seg_only(tmp_path, "s1", version="")
    assert read(tmp_path).software == "FastSurfer (version not said)"


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
    assert read(tmp_path).software == f"FreeSurfer {version}"


def test_fastsurfer_with_surfaces_names_both_tools(tmp_path):
    folder = write_freesurfer(tmp_path, "s1", "aparc.DKTatlas.mapped")
    write(folder / "stats" / "aseg.stats", segstats("s1", STRUCTURES))
    found = read(tmp_path)
    assert found.software == "FastSurfer 2.4.2+4eb1b0a, FreeSurfer 7.4.1"
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
    assert reason(tmp_path, "none") == "there is no stats folder"
    assert "recon-all.error" in reason(tmp_path, "error")
    assert "IsRunning.lh+rh" in reason(tmp_path, "running")
    assert reason(tmp_path, "absent") == "missing: stats/rh.aparc.stats"
    assert "aseg.stats is cut off" in reason(tmp_path, "cut")
    assert "cells, not 10" in reason(tmp_path, "damaged")


def test_a_plan_without_a_file_or_with_an_unknown_name_is_an_error(tmp_path):
    with pytest.raises(InputError, match="folder: no subject has a table of regions"):
        make_plan(Request(), [frozenset({"wmparc"})], "folder")
    with pytest.raises(InputError, match="measure is 'width'"):
        make_plan(Request(measure="width"), [frozenset({"aseg"})], "folder")
    with pytest.raises(InputError, match=r"no segmentation 'thalamos'.*'thalamus'"):
        make_plan(Request(segmentations=("thalamos",)), [frozenset({"aseg"})], "folder")


def test_a_link_whose_target_is_gone_is_no_file(tmp_path):
    folder = write_seg_only(tmp_path, "s1")
    (folder / "stats" / "aseg+DKT.stats").symlink_to(tmp_path / "gone")
    assert read(tmp_path).regions["lh_insula_volume"] > 0


def test_labels_that_are_no_cortex_are_left_out(tmp_path):
    names = ["Background+FreeSurfer_Defined_Medial_Wall", "7Networks_LH_Vis_1", "L_???_ROI", "???"]
    write_freesurfer(tmp_path, "s1", "Schaefer2018_100Parcels_7Networks_order", names)
    cortex = list(read(tmp_path, aseg=False).regions)
    assert cortex == ["lh_7Networks_LH_Vis_1_thickness", "rh_7Networks_LH_Vis_1_thickness"]
