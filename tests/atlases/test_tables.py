"""A user's own atlas."""

from __future__ import annotations

import hashlib
import math

import pytest

from sgbn.cohort.atlas import read_atlas, table_rows
from sgbn.cohort.region_names import match_columns
from sgbn.core.exceptions import DataWarning, InputError

HEADER = "region,hemisphere,lobe,x,y,z"
GOOD = f"""{HEADER}
Left area A,L,frontal,-10,20,30.5
Right area A,right,frontal,10,20,30
Stem,,,0,-30,-30
"""


def written(folder, text, name="own.csv", **kwargs):
    path = folder / name
    path.write_text(text, **{"encoding": "utf-8", **kwargs})
    return path


@pytest.mark.parametrize("mark", [",", "\t", ";"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_table_is_read_whatever_its_delimiter(tmp_path, mark, encoding):
    atlas = read_atlas(written(tmp_path, GOOD.replace(",", mark), encoding=encoding))
    assert atlas.name == "own"
    assert [region.hemisphere for region in atlas.regions] == ["L", "R", ""]
    assert atlas.regions[0][3:6] == (-10.0, 20.0, 30.5)
    assert math.isnan(atlas.regions[0].volume_mm3)
    match = match_columns(["lh_area_A_thickness", "Area A (R)", "stem", "age"], atlas)
    assert [found.region for found in match.columns] == list(atlas.regions)
    assert match.unmatched == ("age",)


def test_volume_other_columns_quotes_and_empty_lines(tmp_path):
    header = "Volume_mm3,Region,note,hemisphere,lobe,x,y,z"
    text = header + '\n12.5,"A, part 1",n,B,,1,2,3\n\n,C,,L,,-1,2,3\n'
    first, second = read_atlas(written(tmp_path, text)).regions
    assert (first.name, first.hemisphere, first.volume_mm3) == ("A, part 1", "", 12.5)
    assert math.isnan(second.volume_mm3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'region', 'lobe'"),
        ("hemisphere,lobe\nL,f\n", "no column 'region'"),
        ("region,hemisphere\nA,L\n", "no column 'lobe'"),
        ("region,hemisphere,lobe,x,y\nA,L,,1,2\n", "no column 'z'"),
        (f"{HEADER}\n", "lists no region"),
        (f"{HEADER}\nA,L,f,1,2,3\nB,X,f,1,2,3\n", "row 3, column 'hemisphere': 'X'"),
        (f"{HEADER}\nA,L,f,1,,3\n", "row 2, column 'y': ''"),
        (f"{HEADER}\n\nA,L,f,1,inf,3\n", "row 3, column 'y': 'inf'"),
        (f"{HEADER},volume_mm3\nA,L,f,1,2,3,big\n", "row 2, column 'volume_mm3': 'big'"),
        (f"{HEADER}\n,L,f,1,2,3\n", "row 2, column 'region'"),
        (f"{HEADER}\nA,L,f,1,2\n", "row 2: there are 5 cells for 6 columns"),
        (f"{HEADER}\nA,L,f,1,2,3\nA,lh,f,1,2,3\n", "row 3, column 'region': 'A'"),
        (HEADER.replace(",", ";") + "\nA;L;f;-1,5;2;3\n", "row 2, column 'x': '-1,5'"),
    ],
)
def test_errors_name_the_file_the_row_and_the_column(tmp_path, text, message):
    with pytest.raises(InputError) as error:
        read_atlas(written(tmp_path, text))
    assert "own.csv" in str(error.value)
    assert message in str(error.value)


def test_a_file_that_is_absent_or_no_text_is_named(tmp_path):
    with pytest.raises(InputError, match=r"absent\.csv"):
        read_atlas(tmp_path / "absent.csv")
    (tmp_path / "image.csv").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(InputError, match=r"image\.csv.*UTF-8"):
        read_atlas(tmp_path / "image.csv")


def test_a_table_of_labels_after_bids_is_read(tmp_path):
    text = "index\tname\tnetwork_label\n1\tLH_Vis_1\tVis\n2\tRH_Vis_1\tVis\n3\tStem\tn/a\n"
    regions = read_atlas(written(tmp_path, text, "atlas-X_dseg.tsv")).regions
    assert [one[:3] for one in regions] == [
        ("LH_Vis_1", "L", "Vis"),
        ("RH_Vis_1", "R", "Vis"),
        ("Stem", "", "unknown"),
    ]
    assert all(math.isnan(number) for one in regions for number in one[3:7])
    names = read_atlas(written(tmp_path, "index,label,color\n1,A,red\n2,B,blue\n")).regions
    assert [(one.name, one.lobe) for one in names] == [("A", "unknown"), ("B", "unknown")]


def test_lobes_or_coordinates_may_be_absent(tmp_path):
    (only_lobe,) = read_atlas(written(tmp_path, "region,lobe\nA,frontal\n")).regions
    assert (only_lobe.lobe, math.isnan(only_lobe.x)) == ("frontal", True)
    (only_place,) = read_atlas(written(tmp_path, "region,x,y,z\nA,1,2,3\n")).regions
    assert only_place[2:6] == ("unknown", 1.0, 2.0, 3.0)
    first, second = read_atlas(
        written(tmp_path, f"{HEADER}\nA,,f,n/a,n/a,n/a\nB,,f,1,2,3\n")
    ).regions
    assert (math.isnan(first.y), second.y) == (True, 2.0)


def test_the_file_is_known_by_its_content(tmp_path):
    path = written(tmp_path, GOOD)
    atlas = read_atlas(path)
    assert atlas.file == (str(path), hashlib.sha256(path.read_bytes()).hexdigest(), "")
    assert read_atlas(written(tmp_path, GOOD.replace("30.5", "31.5"))) != atlas


def test_a_table_is_written_as_it_is_read(tmp_path):
    header = f"{HEADER},volume_mm3,other_names,label_image\n"
    text = header + "A,L,f,-1.5,2.0,3.0,8.0,a|aa,x.nii\nB,,unknown,1.0,2.0,3.0,8.0,,x.nii\n"
    atlas = read_atlas(written(tmp_path, text))
    assert atlas.title == atlas.file.label_image == "x.nii"
    rows = table_rows(atlas)
    assert ",".join(rows[0]) + "\n" == header
    assert [",".join(map(str, row.values())) for row in rows] == text.splitlines()[1:]


@pytest.mark.parametrize("side", ["l", "LH", "Left"])
def test_sides_are_spelled_as_in_columns(tmp_path, side):
    text = f"{HEADER}\nA,{side},f,1,2,3\n"
    assert read_atlas(written(tmp_path, text)).regions[0].hemisphere == "L"


def test_other_names_of_a_region_are_known_too(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(
        "region,hemisphere,lobe,x,y,z,other_names\nFirst_L,L,frontal,-1,2,3,lOne| Area 7 \n"
        "First_R,R,frontal,1,2,3,\n"
    )
    atlas = read_atlas(path)
    assert atlas.regions[0].other_names == ("lOne", "Area 7")
    assert atlas.regions[1].other_names == ()
    assert atlas.find("lone_volume") == atlas.find("area_7_L") == atlas.regions[0]
    assert atlas.find("rone") is None


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("A,L,f,-550,20,30", r"1 region is outside the head in MNI space: 'A'"),
        ("A,L,f,40,20,30", r"the hemisphere and x of 1 region disagree: 'A'"),
    ],
)
def test_places_that_cannot_be_are_said(tmp_path, row, words):
    with pytest.warns(DataWarning, match=words):
        read_atlas(written(tmp_path, f"{HEADER}\n{row}\n"))


def test_a_region_may_reach_over_the_midline(tmp_path, recwarn):
    read_atlas(written(tmp_path, f"{HEADER}\nA,L,f,3,20,30\nB,,f,20,20,30\n"))
    assert not recwarn.list
