import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.codes import refused, warned

from sgbn.core.problems import InputError
from sgbn.read.cat12 import (
    MAX_BYTES,
    cat12_subjects,
    choose_atlas,
    read_atlases,
    read_cat_subject,
    read_regions,
    read_report,
)
from sgbn.read.subject_folders import Failure, person_of, roi_files
from sgbn.read.subjects import collect_subjects
from sgbn.read.text import MAX_DEPTH

from .written import SURFACE_NAMES, VOLUME_NAMES, cat_report, cat_roi, write, write_cat12


def read_all(folder, atlas, measure):
    subjects = cat12_subjects(roi_files(folder))
    atlases, _ = read_atlases(subjects)
    return [read_cat_subject(one, atlases[one.id], atlas, measure) for one in subjects]


def chosen(folder, asked=None, measure=None):
    atlases, _ = read_atlases(cat12_subjects(roi_files(folder)))
    return choose_atlas(asked, measure, atlases)


def test_both_files_of_an_image_are_one_subject(tmp_path):
    write_cat12(tmp_path, "sub-01_ses-2_T1w")
    write_cat12(tmp_path, "patient7", surfaces=False)
    subjects = cat12_subjects(roi_files(tmp_path))
    assert [one.id for one in subjects] == ["patient7", "sub-01_ses-2"]
    assert [person_of(one.id) for one in subjects] == ["patient7", "sub-01"]
    assert [len(one.files) for one in subjects] == [1, 2]


def test_atlases_are_chosen_surfaces_first(tmp_path):
    write_cat12(tmp_path, "a")
    assert chosen(tmp_path) == ("aparc_DK40", "thickness")
    assert chosen(tmp_path, measure="volume") == ("neuromorphometrics", "Vgm")
    assert chosen(tmp_path, measure="Vwm") == ("neuromorphometrics", "Vwm")
    assert chosen(tmp_path, "neuromorphometrics") == ("neuromorphometrics", "Vgm")


@pytest.mark.parametrize(
    ("names", "options", "code"),
    [
        ("a", {"asked": "neuromorph"}, "parcellation.absent"),
        ("a", {"measure": "area"}, "measure.unknown"),
        (["sub-01_run-1_T1w", "sub-01_run-2_T1w"], {}, "subject.twice"),
    ],
)
def test_atlases_that_nobody_has_and_two_images_of_a_subject(tmp_path, names, options, code):
    for name in names:
        write_cat12(tmp_path, name)
    with refused(code):
        chosen(tmp_path, **options)


def test_values_totals_and_quality(tmp_path):
    write_cat12(tmp_path, "a")
    (row,) = read_all(tmp_path, "neuromorphometrics", "Vwm")
    assert list(row.regions)[1:3] == ["Right Hippocampus", "Left Hippocampus"]
    assert list(row.totals) == ["TIV"]
    assert row.quality["IQR"] == 2.25
    assert row.quality["GM"] == 600
    assert row.quality["missing"] == ""
    (row,) = read_all(tmp_path, "aparc_DK40", "thickness")
    assert list(row.regions) == ["lbankssts", "rbankssts", "linsula", "rinsula"]
    assert set(row.totals) == {"TIV", "lunknown"}


def test_a_report_in_the_same_folder_or_none(tmp_path):
    write_cat12(tmp_path, "a", report=False)
    (row,) = read_all(tmp_path, "neuromorphometrics", "Vgm")
    assert (row.totals, row.quality["software"], row.quality["missing"]) == ({}, "", "TIV")
    write_cat12(tmp_path, "a")
    (tmp_path / "report" / "cat_a.xml").rename(tmp_path / "label" / "cat_a.xml")
    (row,) = read_all(tmp_path, "neuromorphometrics", "Vgm")
    assert "TIV" in row.totals


def test_a_damaged_file_of_another_atlas_costs_no_subject(tmp_path):
    for name in ("a", "b"):
        write_cat12(tmp_path, name)
    write(tmp_path / "label" / "catROI_b.xml", "<S>")
    thickness = collect_subjects(tmp_path)
    assert thickness.table["subject_id"].tolist() == ["a", "b"]
    with warned("subjects.left-out"):
        volumes = collect_subjects(tmp_path, parcellation="neuromorphometrics")
    assert volumes.table["subject_id"].tolist() == ["a"]


def test_failures_name_file_and_reason(tmp_path):
    for name in ("a", "b", "c", "d"):
        write_cat12(tmp_path, name, surfaces=False)
    write(tmp_path / "label" / "catROI_b.xml", "<S>")
    write(tmp_path / "label" / "catROI_c.xml", cat_roi({"cobra": ((1,), ("x",), {"Vgm": [1]})}))
    write(tmp_path / "report" / "cat_d.xml", "")
    subjects = cat12_subjects(roi_files(tmp_path))
    atlases, failures = read_atlases(subjects)
    assert [one.id for one in failures] == ["b"]
    assert failures[0].reason.code == "xml.damaged"
    there = {one.id: one for one in subjects if one.id in atlases}
    found = {
        name: read_cat_subject(one, atlases[name], "neuromorphometrics", "Vgm")
        for name, one in there.items()
    }
    assert found["c"].reason.code == "subject.no-measure"
    assert isinstance(found["d"], Failure)
    assert "cat_d.xml" in str(found["d"].reason)


BOMB = """<?xml version="1.0"?>
<!DOCTYPE S [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<S><atlas><names><item>&b;</item></names><data><Vgm>[1]</Vgm></data></atlas></S>"""
EXTERNAL = """<?xml version="1.0"?>
<!DOCTYPE S [<!ENTITY a SYSTEM "file:///etc/hostname">]>
<S><atlas><names><item>&a;</item></names><data><Vgm>[1]</Vgm></data></atlas></S>"""


def test_volumes_and_surfaces(tmp_path):
    write_cat12(tmp_path, "s1")
    volumes = read_regions(tmp_path / "label" / "catROI_s1.xml")["neuromorphometrics"]
    assert volumes.names == VOLUME_NAMES
    assert list(volumes.data) == ["Vgm", "Vwm", "Vcsf"]
    assert math.isnan(volumes.data["Vgm"][0])
    assert volumes.data["Vcsf"] == (1.0, 0.1, 0.1, 0.2)
    surfaces = read_regions(tmp_path / "label" / "catROIs_s1.xml")["aparc_DK40"]
    assert surfaces.names == SURFACE_NAMES
    assert all(2 < value < 4 for value in surfaces.data["thickness"][1:])


def test_one_region_and_lists_with_blanks_or_items(tmp_path):
    text = (
        "<S><one><ids>7</ids><names><item>left</item></names><data><Vgm>3.5</Vgm></data></one>"
        "<two><names><item>a</item><item>b</item></names><data><Vgm>[1 2]</Vgm>"
        "<Vwm><item>3</item><item/></Vwm></data></two></S>"
    )
    found = read_regions(write(tmp_path / "catROI_a.xml", text))
    assert found["one"].data == {"Vgm": (3.5,)}
    assert found["two"].data["Vgm"] == (1, 2)
    assert found["two"].data["Vwm"][0] == 3
    assert math.isnan(found["two"].data["Vwm"][1])


def test_names_that_two_regions_have_get_their_ids(tmp_path):
    regions = {"julichbrain3": ((5, 6, 9), ("lCM", "rCM", "lCM"), {"Vgm": [1, 2, 3]})}
    path = write(tmp_path / "catROI_a.xml", cat_roi(regions))
    assert read_regions(path)["julichbrain3"].names == ("lCM_5", "rCM", "lCM_9")


def test_a_report(tmp_path):
    report = read_report(write(tmp_path / "cat_a.xml", cat_report("a")))
    assert report.software == "CAT12 12.8.2 r2170"
    assert report.numbers["IQR"] == 2.25
    assert 1400 < report.numbers["TIV"] < 2800
    assert (report.numbers["GM"], report.numbers["WM"], report.numbers["CSF"]) == (600, 500, 300)
    assert "SIQR" not in report.numbers
    assert read_report(write(tmp_path / "cat_b.xml", "<S/>")).numbers == {}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (BOMB, "xml.entities"),
        (EXTERNAL, "xml.entities"),
        (BOMB.replace("?>", ' encoding="utf-16"?>', 1).encode("utf-16"), "xml.entities"),
        ("<S>" + "<a>" * MAX_DEPTH + "</a>" * MAX_DEPTH + "</S>", "xml.deep"),
        ("", "xml.damaged"),
        ("<S/>", "cat12.no-atlas"),
        ("<S><ROI><x><tr><td>ROIid</td></tr></x></ROI></S>", "cat12.old"),
        (cat_roi({"x": ((1, 2), ("a", "b"), {"Vgm": [1]})}), "cat12.count"),
        (cat_roi({"x": ((1, 1), ("a", "a"), {"Vgm": [1, 2]})}), "cat12.names"),
        (cat_roi({"x": ((), ("a", "a"), {"Vgm": [1, 2]})}), "cat12.names"),
        (cat_roi({"x": ((1,), ("",), {"Vgm": [1]})}), "cat12.names"),
        (cat_roi({"x": ((1,), ("a",), {"Vgm": [1]})}).replace("[1]<", "[one]<"), "cat12.numbers"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(tmp_path, text, code):
    path = tmp_path / "catROI_a.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with refused(code):
        read_regions(path)


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "catROI_a.xml"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with refused("file.large"):
        read_regions(path)


@given(st.binary(max_size=60), st.integers(0, 200))
@settings(max_examples=settings.default.max_examples // 10)
def test_bytes_anywhere_give_regions_or_an_error_that_names_the_file(tmp_path_factory, damage, at):
    content = cat_roi({"x": ((1, 2), ("a", "b"), {"Vgm": [1, 2]})}).encode()
    path = tmp_path_factory.mktemp("damaged") / "catROI_a.xml"
    path.write_bytes(content[:at] + damage + content[at:])
    try:
        said = list(read_regions(path))
    except InputError as error:
        said = re.findall(r"catROI_a\.xml", str(error))
    assert said
