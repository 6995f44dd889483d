import csv
import os
from pathlib import Path

import numpy as np
import pytest

from sgbn.cohort.atlas import ATLASES, Atlas, Region, is_aseg, load_atlas, read_atlas
from sgbn.core.exceptions import InputError
from sgbn.write.draw import surface
from sgbn.write.draw.surface import (
    PACKAGED,
    SIDES,
    VERTICES,
    Parcellation,
    _with_side,
    find_parcellation,
    read_gifti,
    read_parcellation,
)

nibabel = pytest.importorskip("nibabel", reason="the extra brain reads parcellations")
pytest.importorskip("nilearn", reason="the extra brain has the mesh")
DATA = Path(os.environ.get("SGBN_DATA", Path(__file__).parents[3] / "shared" / "data"))
SCHAEFER = [(k, networks) for k in (100, 200, 300, 400) for networks in (7, 17)]


def distances(parcels, atlas):
    """How far (mm) the middle of the vertices of each region is from its place in the atlas.

    In the middle of the cortex; the coordinates of fsaverage are those of MNI305.
    """
    numbers = parcels.numbers(atlas)
    found = {}
    for side, regions in zip(SIDES, (parcels.left, parcels.right), strict=True):
        middle = (read_gifti(f"pial_{side}")[0] + read_gifti(f"white_{side}")[0]) / 2
        for region, number in numbers.items():
            if region.hemisphere == side[0].upper():
                centre = middle[regions == number].mean(axis=0)
                found[region.name] = float(np.linalg.norm(centre - region[3:6]))
    return found


def test_every_cortical_region_of_desikan_killiany_lies_where_its_table_says():
    atlas = load_atlas("desikan_killiany")
    found = distances(find_parcellation(atlas), atlas)
    assert set(found) == {one.name for one in atlas.regions if not is_aseg(one)}
    assert len(found) == 68
    assert max(found.values()) < 8.0
    assert np.median([*found.values()]) < 4.0


def published_schaefer(n_regions, networks):
    """Table of the authors: names of the parcels and their centres in MNI space."""
    path = DATA / "atlases" / f"schaefer_{n_regions}_{networks}networks.csv"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    with path.open(newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    regions = tuple(
        Region(name, name.split("_")[1][0], "", *map(float, place), 0.0) for _, name, *place in rows
    )
    return Atlas(f"schaefer_{n_regions}_{networks}", "", regions)


@pytest.mark.parametrize(("n_regions", "networks"), SCHAEFER)
def test_every_parcel_of_schaefer_lies_where_the_authors_say(n_regions, networks):
    atlas = published_schaefer(n_regions, networks)
    found = distances(find_parcellation(atlas), atlas)
    assert len(found) == n_regions
    assert max(found.values()) < 15.0
    assert np.median([*found.values()]) < 4.2


@pytest.mark.parametrize(("n_regions", "networks"), SCHAEFER)
def test_the_tables_of_schaefer_have_the_same_parcels(n_regions, networks):
    name = f"schaefer_{n_regions}_{networks}"
    if name not in ATLASES:
        pytest.skip(f"there is no table of {name}")
    atlas = load_atlas(name)
    assert len(find_parcellation(atlas).numbers(atlas)) == len(atlas.regions)


def test_names_in_another_order_would_be_seen():
    atlas = load_atlas("desikan_killiany")
    parcels = find_parcellation(atlas)
    left, right = parcels.names[:34], parcels.names[34:]
    moved = Parcellation(parcels.left, parcels.right, left[1:] + left[:1] + right[1:] + right[:1])
    assert np.median([*distances(moved, atlas).values()]) > 20


@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_parcellations_cover_the_cortex_without_the_medial_wall(name):
    names = "names" if name == "desikan_killiany" else "names_17"
    parcels = surface._packaged(name, names)
    for regions in (parcels.left, parcels.right):
        assert regions.shape == (VERTICES,)
        assert 0.08 < (regions < 0).mean() < 0.11
        assert regions.max() < len(parcels.names)
    assert not set(parcels.left[parcels.left >= 0]) & set(parcels.right[parcels.right >= 0])
    assert len(set(parcels.names)) == len(parcels.names)


def test_an_atlas_without_a_surface_has_a_reason():
    with pytest.raises(InputError, match="no surface of the atlas aal is known"):
        find_parcellation(load_atlas("aal"))


def test_a_table_of_ones_own_does_not_get_the_surface_of_its_namesake(tmp_path):
    path = tmp_path / "desikan_killiany.csv"
    path.write_text("region,lobe\nlh_insula,insula\n")
    with pytest.raises(InputError, match="no surface of the atlas desikan_killiany is known"):
        find_parcellation(read_atlas(path))


ANNOT = "aparc.a2009s"
NAMES = ["Unknown", "Medial_wall", "G_and_S_frontomargin", "S_central"]


def codes_of(n):
    return np.arange(n) % len(NAMES)


def write_annot(folder, n=VERTICES, form="{hemisphere}.{stem}.annot"):
    folder.mkdir(parents=True, exist_ok=True)
    colours = np.column_stack([np.arange(4) * 20 + k for k in range(3)] + [np.zeros(4)] * 2)
    paths = []
    for hemisphere in ("lh", "rh"):
        side = {"lh": "left", "rh": "right"}[hemisphere]
        paths.append(folder / form.format(hemisphere=hemisphere, stem=ANNOT, side=side))
        nibabel.freesurfer.write_annot(
            str(paths[-1]), codes_of(n), colours.astype(int), NAMES, fill_ctab=True
        )
    return paths


@pytest.fixture
def no_copies(monkeypatch, tmp_path):
    """As without FreeSurfer and without downloads of nilearn."""
    for name in ("SUBJECTS_DIR", "FREESURFER_HOME", "NILEARN_SHARED_DATA", "NILEARN_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("n", [VERTICES, 163842])
def test_an_annotation_of_fsaverage_is_read(tmp_path, n):
    parcels = read_parcellation(*write_annot(tmp_path, n))
    assert parcels.names == (
        *("lh_G_and_S_frontomargin", "lh_S_central"),
        *("rh_G_and_S_frontomargin", "rh_S_central"),
    )
    wanted = np.array([-1, -1, 0, 1])[codes_of(VERTICES)]
    np.testing.assert_array_equal(parcels.left, wanted)
    np.testing.assert_array_equal(parcels.right, np.where(wanted < 0, -1, wanted + 2))
    atlas = load_atlas("destrieux")
    assert {one.name for one in parcels.numbers(atlas)} == {
        region.name
        for region in atlas.regions
        if region in {atlas.find(name) for name in parcels.names}
    }
    assert len(parcels.numbers(atlas)) == 4


def test_a_label_file_of_gifti_is_read(tmp_path):
    paths = []
    for side in SIDES:
        codes = codes_of(VERTICES).astype(np.int32)
        array = nibabel.gifti.GiftiDataArray(codes, intent="NIFTI_INTENT_LABEL")
        image = nibabel.GiftiImage(darrays=[array])
        for key, name in enumerate(NAMES):
            label = nibabel.gifti.GiftiLabel(key)
            label.label = name
            image.labeltable.labels.append(label)
        paths.append(tmp_path / f"{side}.label.gii")
        nibabel.save(image, paths[-1])
    as_annot = read_parcellation(*write_annot(tmp_path))
    parcels = read_parcellation(*paths)
    assert parcels.names == as_annot.names
    np.testing.assert_array_equal(parcels.right, as_annot.right)


@pytest.mark.parametrize(
    ("variable", "inside"),
    [("SUBJECTS_DIR", "fsaverage"), ("FREESURFER_HOME", "subjects/fsaverage5")],
)
def test_copies_of_freesurfer_are_found(monkeypatch, tmp_path, no_copies, variable, inside):
    write_annot(tmp_path / inside / "label")
    monkeypatch.setenv(variable, str(tmp_path))
    assert len(find_parcellation(load_atlas("destrieux")).names) == 4


def test_a_download_of_nilearn_is_found(monkeypatch, tmp_path, no_copies):
    write_annot(tmp_path / "destrieux_surface", form="{side}.{stem}.annot")
    monkeypatch.setenv("NILEARN_DATA", str(tmp_path))
    assert len(find_parcellation(load_atlas("destrieux")).names) == 4


def test_without_a_copy_the_message_says_where_one_is_looked_for(no_copies):
    with pytest.raises(InputError, match=r"Set SUBJECTS_DIR.*label/lh\.aparc\.a2009s\.annot"):
        find_parcellation(load_atlas("destrieux"))


def test_other_meshes_and_damaged_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"has 500 vertices\. Give a parcellation of fsaverage5"):
        read_parcellation(*write_annot(tmp_path, 500))
    for name in ("damaged.annot", "damaged.label.gii"):
        (tmp_path / name).write_bytes(b"\x00\x01nothing")
        with pytest.raises(InputError, match=f"{name}' cannot be read"):
            read_parcellation(tmp_path / name, tmp_path / name)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("insula", "lh_insula"),
        ("G_and_S_frontomargin", "lh_G_and_S_frontomargin"),
        ("7Networks_LH_Vis_1", "7Networks_LH_Vis_1"),
        ("L_V1_ROI", "L_V1"),
        ("A8m_L", "A8m_L"),
    ],
)
def test_the_side_is_added_where_a_name_does_not_tell_it(name, known):
    assert _with_side(name, "lh") == known
