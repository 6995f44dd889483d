"""Places of the regions of a label image."""

from types import SimpleNamespace

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.codes import refused, warned

from sgbn.cohort.atlas import read_atlas
from sgbn.core.problems import DataWarning, InputError
from sgbn.read.label_atlas import (
    find_label_file,
    load_label_atlas,
    places_of,
    read_label_names,
    write_places,
)

AFFINE = np.diag([2.0, 2, 2, 1])


@pytest.fixture
def labels():
    data = np.zeros((4, 4, 4), np.int16)
    data[0], data[1], data[2, 0] = 5, 12, 40
    return data


@pytest.fixture
def path(tmp_path, labels):
    nib.save(nib.Nifti1Image(labels, AFFINE), tmp_path / "atlas.nii.gz")
    return tmp_path / "atlas.nii.gz"


def test_labels_become_regions_by_rising_value(path, labels):
    atlas = load_label_atlas(path, {5: "a", 40: "c d"})
    assert atlas.regions == ("a", "label_12", "c d")
    assert atlas.n_voxels.tolist() == [16, 16, 4]
    assert np.array_equal(np.array([0, 5, 12, 40])[atlas.index], labels)
    assert atlas.grid.voxel_volume == pytest.approx(8)
    assert load_label_atlas(str(path)).regions == ("label_5", "label_12", "label_40")
    assert load_label_atlas(atlas) is atlas


def test_names_are_found_beside_the_image(path):
    path.with_name("atlas.tsv").write_text("index\tname\n0\tBackground\n5\ta\n12\tb\n40\tc\n")
    assert load_label_atlas(path).regions == ("a", "b", "c")
    path.with_name("other.csv").write_text("5,x\n12,y\n40,z\n")
    assert load_label_atlas(path, path.with_name("other.csv")).regions == ("x", "y", "z")


def test_a_listed_region_without_voxels_is_named_and_left_out(path):
    with warned("atlas.absent"):
        atlas = load_label_atlas(path, {5: "a", 12: "b", 40: "c", 41: "gone"})
    assert atlas.regions == ("a", "b", "c")
    assert atlas.absent == ("gone",)


def test_a_table_of_all_that_a_program_knows_warns_of_nothing(path, recwarn):
    atlas = load_label_atlas(path, {value: f"region {value}" for value in range(1000)})
    assert atlas.absent == ()
    assert not [w for w in recwarn if issubclass(w.category, DataWarning)]


def test_the_background_can_be_several_values(path):
    assert load_label_atlas(path, background=[0, 12]).regions == ("label_5", "label_40")
    assert load_label_atlas(path, background=5).regions == ("label_0", "label_12", "label_40")
    assert load_label_atlas(path, background={0, 12}).regions == ("label_5", "label_40")
    assert load_label_atlas(path, background=np.array([0, 12])).regions == ("label_5", "label_40")


def test_a_list_of_names_must_fit_the_values(labels):
    consecutive = nib.Nifti1Image((labels > 0) * (1 + (labels == 12)).astype(np.int16), AFFINE)
    assert load_label_atlas(consecutive, ["a", "b"]).regions == ("a", "b")
    assert load_label_atlas(consecutive, ["Background", "a", "b"]).regions == ("a", "b")


def test_labels_stored_as_floats_or_with_nan_are_labels(labels):
    data = labels.astype(np.float32)
    data[3, 3, 3] = np.nan
    data[0] += 1e-5
    assert load_label_atlas(nib.Nifti1Image(data, AFFINE)).n_voxels.tolist() == [16, 16, 4]


@pytest.mark.parametrize(
    ("source", "options", "code"),
    [
        *((None, {"background": bad}, "atlas.background") for bad in ("x", None, 0.5, [np.inf])),
        (None, {"background": [0, 5, 12, 40]}, "atlas.no-label"),
        (None, {"labels": 5}, "atlas.labels"),
        *((None, {"labels": {key: "x"}}, "atlas.key") for key in ("a", 5.5, None)),
        (None, {"labels": {5: "a", 40: "a"}}, "atlas.same-name"),
        (None, {"labels": ["a", "b"]}, "atlas.names"),
        *((np.full((2, 2, 2), voxel), {}, "atlas.fraction") for voxel in (0.37, np.inf, 1e30)),
        (np.zeros((2, 2, 2, 3)), {}, "atlas.volumes"),
        ("gone.nii", {}, "atlas.no-file"),
        (3, {}, "atlas.type"),
    ],
)
def test_what_is_no_atlas_is_named(path, source, options, code):
    source = path if source is None else source
    if isinstance(source, np.ndarray):
        source = nib.Nifti1Image(source.astype(np.float32), AFFINE)
    with refused(code):
        load_label_atlas(source, **options)


def test_the_fingerprint_changes_with_all_that_counts(path, labels):
    first = load_label_atlas(path)
    assert load_label_atlas(nib.Nifti1Image(labels, AFFINE)) == first
    assert hash(load_label_atlas(path)) == hash(first)
    moved = labels.copy()
    moved[3, 3, 3] = 5
    others = (
        load_label_atlas(path, {5: "a"}),
        load_label_atlas(nib.Nifti1Image(moved, AFFINE)),
        load_label_atlas(nib.Nifti1Image(labels, 1.5 * AFFINE)),
    )
    assert len({first, *others}) == 4


def nilearn_atlases(maps):
    table = pd.DataFrame({"index": [0, 5, 12, 40], "name": ["Background", "a", "b", "c"]})
    return {
        "lut": SimpleNamespace(maps=maps, labels=["?"], lut=table),
        "indices": SimpleNamespace(maps=maps, labels=[*"abc"], indices=["5", "12", "40"], lut=None),
        "pairs": SimpleNamespace(maps=maps, labels=[(5, b"a"), (12, b"b"), (40, b"c")]),
    }


@pytest.mark.parametrize("kind", ["lut", "indices", "pairs"])
def test_atlases_of_nilearn_are_read_in_all_their_forms(path, kind):
    assert load_label_atlas(nilearn_atlases(str(path))[kind]).regions == ("a", "b", "c")
    assert load_label_atlas(nilearn_atlases(nib.load(path))[kind]).regions == ("a", "b", "c")


def test_nothing_is_downloaded_unasked(monkeypatch, path):
    asked = []

    def fetch(**arguments):
        asked.append(arguments)
        return nilearn_atlases(path)["lut"]

    from nilearn import datasets

    monkeypatch.setattr(datasets, "fetch_atlas_schaefer_2018", fetch)
    with refused("atlas.download"):
        load_label_atlas("schaefer200")
    assert not asked
    assert load_label_atlas("Schaefer200", download=True).regions == ("a", "b", "c")
    assert asked[0]["n_rois"] == 200


def test_a_failed_download_is_explained(monkeypatch):
    from nilearn import datasets

    def fetch(**_):
        raise TimeoutError("no route to host")

    monkeypatch.setattr(datasets, "fetch_atlas_aal", fetch)
    with refused("atlas.fetch"):
        load_label_atlas("aal", download=True)


FSL = """<?xml version="1.0" encoding="ISO-8859-1"?>
<atlas version="1.0"><header><name>x</name><type>{kind}</type></header>
<data><label index="0" x="48" y="94" z="35">Frontal Pole</label>
<label index="1" x="25" y="70" z="32">G &amp; S frontomargin</label></data></atlas>"""

EXPECTED = {1: "Left-Hippocampus", 2: "G&S frontomargin", 17: "Pars, opercularis"}
FILES = {
    "dseg.tsv": "index\tname\tcolor\n1\tLeft-Hippocampus\t#fff\n2\tG&S frontomargin\t#000\n"
    "17\tPars, opercularis\t#123\n",
    "bom.csv": '\ufeffname,index\nLeft-Hippocampus,1\n"G&S frontomargin",2\n'
    '"Pars, opercularis",17\n',
    "plain.csv": '1,Left-Hippocampus\n2,G&S frontomargin\n17,"Pars, opercularis"\n',
    "cat12.csv": "ROIid;ROIabbr;ROIname\n1;lHip;Left-Hippocampus\n2;x;G&S frontomargin\n"
    "17;y;Pars, opercularis\n",
    "lut.txt": "#No. Label  R G B A\n\n1   Left-Hippocampus   220 20 10 0\n"
    "  2   G&S frontomargin  1 2 3 0\n17\tPars, opercularis 60 60 60 0\n",
    "words.txt": "1 Left-Hippocampus\n2 G&S frontomargin\n17 Pars, opercularis\n",
    "comments.txt": "# names\n1 Left-Hippocampus # seen\n2 G&S frontomargin\t# c\n"
    "17 Pars, opercularis #\n",
    "coloured.txt": "1 Left-Hippocampus 220 20 10 0 # 3\n2 G&S frontomargin 1 2 3 0\n"
    "17 Pars, opercularis 60 60 60 0\n",
    "header.txt": "Index Name\n1 Left-Hippocampus\n2 G&S frontomargin\n17 Pars, opercularis\n",
    "header_lut.txt": "index  name  R G B A\n1 Left-Hippocampus 1 2 3 0\n"
    "2 G&S frontomargin 1 2 3 0\n17 Pars, opercularis 1 2 3 0\n",
    "equals.txt": "1 = Left-Hippocampus\n2=G&S frontomargin\n17 =Pars, opercularis\n",
    "equals2.txt": "17=Pars, opercularis\n1=Left-Hippocampus\n2=G&S frontomargin\n",
    "colons.txt": "1: Left-Hippocampus\n2: G&S frontomargin\n17: Pars, opercularis\n",
    "aal.txt": "1 Left-Hippocampus 2001\n2 G&S frontomargin 2002\n17 Pars, opercularis 2101\n",
    "snap.txt": '1 255 0 0 1 1 1 "Left-Hippocampus"\n2 0 255 0 1 1 1 "G&S frontomargin"\n'
    '17 0 0 1 1 1 1 "Pars, opercularis"\n',
}


@pytest.mark.parametrize("name", FILES)
def test_each_kind_of_file_is_read_with_names_as_written(tmp_path, name):
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    assert read_label_names(tmp_path / name) == EXPECTED


def test_fsl_numbers_the_maps_of_a_probabilistic_atlas_from_0(tmp_path):
    path = tmp_path / "atlas.xml"
    path.write_text(FSL.format(kind="Probabalistic"))  # spelt like this by FSL
    assert read_label_names(path) == {1: "Frontal Pole", 2: "G & S frontomargin"}
    path.write_text(FSL.format(kind="Label"))
    assert read_label_names(path) == {0: "Frontal Pole", 1: "G & S frontomargin"}


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("1 Lobule 1\n2 Lobule 2\n", ["Lobule 1", "Lobule 2"]),
        ("1 Lobule 1 255 0 0 0\n2 Lobule 2 0 255 0 0\n", ["Lobule 1", "Lobule 2"]),
        ('1 Area #1\n2 Area #2\n3 "Area # 3"\n', ["Area #1", "Area #2", "Area # 3"]),
        ("1,Région\n".encode("latin-1"), ["Région"]),
    ],
)
def test_numbers_marks_and_letters_that_belong_to_a_name_are_kept(tmp_path, content, names):
    path = tmp_path / "names.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert read_label_names(path) == dict(enumerate(names, start=1))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "file.empty"),
        ("a,b\n1,x\n", "names.columns"),
        ("1,x\n,y\n", "names.line"),
        ("1\n", "names.line"),
        ("1 =\n", "names.line"),
        ("A 1\nB 2\n", "names.line"),
        ("Index R Name\n1 255 A\n", "names.line"),
        ("Index Name\n", "file.empty"),
        ("1,x\n1,y\n", "names.label"),
        ("index,name\n1,\n", "names.label"),
        ("<atlas><label>", "xml.damaged"),
        ('<atlas><label index="a">x</label></atlas>', "names.xml"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, content, code):
    (tmp_path / "names.csv").write_text(content)
    with refused(code):
        read_label_names(tmp_path / "names.csv")


@given(st.binary(max_size=60) | st.text('0123456789,;\t\n"<> abé.#-', max_size=60))
@settings(max_examples=settings.default.max_examples // 10)
def test_whatever_a_file_holds_it_is_read_or_named(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    names, message = {}, "fuzz.csv"
    try:
        names = read_label_names(path)
    except InputError as error:
        message = str(error)
    assert "fuzz.csv" in message
    assert all(isinstance(value, int) and name for value, name in names.items())


def test_the_file_beside_the_image_is_found(tmp_path):
    image = tmp_path / "atlas_dseg.nii.gz"
    assert find_label_file(image) is None
    (tmp_path / "atlas_dseg.nii.gz.txt").touch()
    assert find_label_file(image).name == "atlas_dseg.nii.gz.txt"
    (tmp_path / "atlas_dseg.tsv").touch()
    assert find_label_file(image).name == "atlas_dseg.tsv"


# x falls
PLACES_AFFINE = np.array([[-2.0, 0, 0, 19], [0, 3, 0, -20], [0, 0, 2, -10], [0, 0, 0, 1]])


def atlas_of(data, labels, affine=PLACES_AFFINE):
    return load_label_atlas(nib.Nifti1Image(data.astype(np.int16), affine), labels)


def ball(centre, radius, shape=(20, 12, 12)):
    steps = np.stack(np.indices(shape), axis=-1) - centre
    return (steps**2).sum(axis=-1) <= radius**2


def test_centre_and_volume_are_those_of_the_voxels():
    data = np.zeros((20, 12, 12))
    data[ball((14, 6, 5), 2)] = 4
    data[2, 3, 4] = 9
    first, second = places_of(atlas_of(data, {4: "ball", 9: "one voxel"})).regions
    assert first[:6] == ("ball", "L", "unknown", -9.0, -2.0, 0.0)
    assert first.volume_mm3 == (data == 4).sum() * 12
    assert second[:7] == ("one voxel", "R", "unknown", 15.0, -11.0, -2.0, 12.0)


def test_a_region_around_its_mean_has_a_voxel_of_its_own_as_centre():
    data = np.zeros((20, 12, 12))
    data[ball((9, 6, 5), 4) & ~ball((9, 6, 5), 3)] = 1
    data[9, 6, 5] = 2  # in the middle of the shell
    shell = places_of(atlas_of(data, {1: "shell", 2: "core"})).regions[0]
    voxel = np.linalg.inv(PLACES_AFFINE) @ [*shell[3:6], 1]
    assert data[tuple(np.rint(voxel[:3]).astype(int))] == 1
    distances = [
        np.linalg.norm(PLACES_AFFINE[:3, :3] @ (v - (9, 6, 5))) for v in np.argwhere(data == 1)
    ]
    own = np.linalg.norm(np.array(shell[3:6]) - (PLACES_AFFINE @ [9, 6, 5, 1])[:3])
    assert own == pytest.approx(min(distances))


def test_hemispheres_are_as_the_names_say_else_as_the_voxels_lie():
    data = np.zeros((20, 12, 12))
    data[1:4, 0], data[15:18, 2], data[8:12, 4], data[12:14, 6] = 1, 2, 3, 4
    names = {1: "a", 2: "b", 3: "bridge", 4: "insula_L"}
    regions = places_of(atlas_of(data, names)).regions
    assert [one.hemisphere for one in regions] == ["R", "L", "", "L"]


def test_names_of_the_other_side_are_warned_about():
    data = np.zeros((20, 12, 12))
    data[1:4], data[15:18] = 1, 2
    with warned("atlas.crossed"):
        places_of(atlas_of(data, {1: "lh_a", 2: "rh_a"}))


def test_lobes_are_of_the_labels_else_of_the_name_else_of_the_package(tmp_path):
    data = np.zeros((20, 12, 12))
    for k in range(1, 6):
        data[12 + k, k] = k
    (tmp_path / "dseg.tsv").write_text(
        "index\tname\tnetwork\n1\tInsula_L\tSalience\n2\tPrecentral_L\tn/a\n3\tPostcentral_L\t\n"
        "4\t17Networks_LH_DefaultA_PFCd_1\t\n5\tlh of mine\t\n"
    )
    places = places_of(atlas_of(data, tmp_path / "dseg.tsv"))
    lobes = [one.lobe for one in places.regions]
    assert lobes == ["Salience", "frontal", "parietal", "DefaultA", "unknown"]


def test_what_is_written_is_read_again(tmp_path):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 9, (20, 12, 12))
    rotated = PLACES_AFFINE.copy()
    rotated[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0] * 1.7
    places = places_of(atlas_of(data, {k: f'area, "{k}"' for k in range(1, 9)}, rotated))
    write_places(places, tmp_path / "atlas.csv")
    read = read_atlas(tmp_path / "atlas.csv")
    assert read.regions == places.regions
    assert (read.name, read.title) == (places.name, places.title)
    assert read.file.label_image == "given as an image"
