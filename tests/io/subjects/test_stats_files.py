import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.core.exceptions import InputError
from sgbn.read.freesurfer import MAX_BYTES, NUCLEI, parse_stats, read_stats

from .written import REGIONS, STRUCTURES, aparc, aseg, nuclei, segstats, write

APARC = aparc("s1", "lh").encode()
ASEG = aseg("s1").encode()


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


def test_a_file_of_fastsurfer_says_its_version():
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
    ("content", "message"),
    [
        (b"", "x is empty"),
        (b"# a comment\n", "no table"),
        (APARC[:-1], "is cut off in its last line"),
        (APARC.replace(b"  0.109     0.021        7     1.0\n", b"\n", 1), "6 cells, not 10"),
        (APARC.replace(b"# ColHeaders", b"# Col"), "10 cells, not 5"),
        (ASEG.replace(b"# NRows 14", b"# NRows 45"), "14 structures, but its header says 45"),
        (ASEG.replace(b"Left-Caudate ", b"Left-Thalamus"), "Left-Thalamus is in the file twice"),
        (ASEG.replace(b", 24, unitless", b", many, unitless"), "'many' is not a number"),
        (ASEG.replace(b"BrainSegVol, Brain Segmentation Volume, ", b""), "a measure has 3 cells"),
        (ASEG + b"\0\n", "not text"),
    ],
)
def test_damage_is_named(content, message):
    with pytest.raises(InputError, match=message):
        parse_stats(content, "x")


def test_a_cell_that_is_no_number_names_region_and_column():
    content = APARC.replace(b"1069", b"1_069")
    with pytest.raises(InputError, match="x, NumVert of bankssts: '1_069' is not a number"):
        parse_stats(content, "x").values("NumVert", "x")
    with pytest.raises(InputError, match="no column 'Volume_mm3'"):
        parse_stats(APARC, "x").values("Volume_mm3", "x")


def test_a_file_that_is_not_there_or_too_large_is_named(tmp_path):
    with pytest.raises(InputError, match=r"aseg.stats is missing"):
        read_stats(tmp_path / "aseg.stats")
    path = write(tmp_path / "aseg.stats", "")
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(InputError, match="more than 8 MB"):
        read_stats(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_stats(tmp_path)


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
