"""The atlases of the package."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from nilearn.datasets import load_mni152_brain_mask
from scipy.ndimage import binary_dilation

from sgbn.cohort.atlas import ATLASES, atlases_for, is_aseg, load_atlas, stem
from sgbn.core.exceptions import InputError

ASEG = 36
# As published; README.md beside the tables says which labels are left out of four of them.
SIZES = {
    "desikan_killiany": 68 + ASEG,
    "destrieux": 148 + ASEG,
    "aal": 116,
    "aal2": 120,
    "aal3": 170 - 4,
    "dkt": 62 + ASEG,
    "harvard_oxford": 2 * 48 + 2 * 7 + 1,
    "brainnetome": 246,
    "glasser": 360,
    "neuromorphometrics": 136 - 4,
    "lpba40": 56,
    **{f"schaefer_{size}_{k}": size for size in (100, 200, 300, 400) for k in (7, 17)},
}
NOT_SYMMETRIC = tuple(name for name in ATLASES if name.startswith("schaefer"))
TOLERANCE = 2  # mm beyond the mask: centres are rounded, and templates of MNI space differ


def test_all_atlases_are_counted():
    assert set(ATLASES) == set(SIZES)


@pytest.mark.parametrize("name", ATLASES)
def test_regions_have_a_place_on_their_side(name):
    regions = load_atlas(name).regions
    assert len(regions) == SIZES[name]
    assert len({region.name for region in regions}) == len(regions)
    for region in regions:
        assert region.name.strip()
        assert region.lobe
        assert region.volume_mm3 > 0 or name in NOT_SYMMETRIC
        assert all(math.isfinite(v) and abs(v) < 110 for v in (region.x, region.y, region.z))
        assert {"L": region.x < 0, "R": region.x > 0, "": abs(region.x) < 5}[region.hemisphere]


@pytest.fixture(scope="module")
def near_brain():
    """Brain mask of MNI152, grown by the tolerance, and the way from mm to its voxels."""
    image = load_mni152_brain_mask(resolution=1)
    mask = binary_dilation(np.asarray(image.dataobj) > 0, iterations=TOLERANCE)
    return mask, np.linalg.inv(image.affine)


@pytest.mark.parametrize("name", ATLASES)
def test_every_centre_is_inside_the_brain(name, near_brain):
    mask, to_voxels = near_brain
    for region in load_atlas(name).regions:
        place = to_voxels @ [region.x, region.y, region.z, 1.0]
        assert mask[tuple(np.rint(place[:3]).astype(int))], region


@pytest.mark.parametrize("name", ATLASES)
def test_both_hemispheres_have_as_many_regions(name):
    sides = Counter(region.hemisphere for region in load_atlas(name).regions)
    assert sides["L"] == sides["R"] >= 27


@pytest.mark.parametrize("name", [name for name in ATLASES if name not in NOT_SYMMETRIC])
def test_both_hemispheres_have_the_same_regions_at_mirrored_places(name):
    regions = load_atlas(name).regions
    left, right = (
        {stem(r.name, side): r for r in regions if r.hemisphere == side} for side in ("L", "R")
    )
    assert left.keys() == right.keys()
    for key, region in left.items():
        twin = right[key]
        apart = math.dist((-region.x, region.y, region.z), (twin.x, twin.y, twin.z))
        assert apart < 20, region  # brains are not symmetric, but regions keep their place
        assert twin.lobe == region.lobe or name == "glasser"  # networks may differ


@pytest.mark.parametrize("size", [100, 200, 300, 400])
def test_parcels_of_schaefer_are_in_7_or_17_networks_on_both_sides(size):
    for networks in (7, 17):
        regions = load_atlas(f"schaefer_{size}_{networks}").regions
        for side in ("L", "R"):
            assert len({r.lobe for r in regions if r.hemisphere == side}) == networks
    places = [
        sorted((r.x, r.y, r.z) for r in load_atlas(f"schaefer_{size}_{k}").regions) for k in (7, 17)
    ]
    assert places[0] == places[1]  # the same parcels in another order


def test_harvard_oxford_has_no_ventricles_and_these_subcortical_structures():
    regions = load_atlas("harvard_oxford").regions
    deep = Counter(stem(r.name, r.hemisphere) for r in regions if r.lobe == "subcortical")
    names = ("thalamus", "caudate", "putamen", "pallidum", "hippocampus", "amygdala", "accumbens")
    assert deep == dict.fromkeys(names, 2)
    assert [r.name for r in regions if r.lobe == "brainstem"] == ["Brain-Stem"]
    assert len(regions) - sum(deep.values()) - 1 == 96


@pytest.mark.parametrize(
    ("name", "region", "place"),
    [
        # published: Fan et al. 2016, Brainnetome Atlas
        ("brainnetome", "A8m_L", (-5, 15, 54)),
        ("brainnetome", "A8m_R", (7, 16, 54)),
        ("brainnetome", "lPFtha_R", (13, -16, 7)),
        # another segmentation of the same structures: FreeSurfer's aseg
        ("harvard_oxford", "Left Putamen", (-26, 1, -2)),
        ("neuromorphometrics", "Right Hippocampus", (27, -22, -14)),
        ("lpba40", "Left Caudate", (-14, 8, 9)),
        ("glasser", "R_V1", (11, -83, 3)),  # calcarine sulcus
    ],
)
def test_known_places(name, region, place):
    found = load_atlas(name).find(region)
    assert math.dist((found.x, found.y, found.z), place) < 6


def test_dkt_lies_near_the_regions_of_desikan_killiany_of_the_same_name():
    other = load_atlas("dk")
    for region in load_atlas("dkt").regions[:62]:
        twin = other.find(region.name)
        assert twin.lobe == region.lobe
        assert math.dist(region[3:6], twin[3:6]) < 10, region


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("Desikan-Killiany", "desikan_killiany"),
        ("dk", "desikan_killiany"),
        ("aparc", "desikan_killiany"),
        ("aparc+aseg", "desikan_killiany"),
        ("aparc_DK40", "desikan_killiany"),
        ("Destrieux", "destrieux"),
        ("aparc.a2009s", "destrieux"),
        ("AAL", "aal"),
        ("AAL1", "aal"),
        ("aal116", "aal"),
        ("AAL-2", "aal2"),
        ("aal3", "aal3"),
        ("DKT", "dkt"),
        ("aparc.DKTatlas", "dkt"),
        ("harvard-oxford", "harvard_oxford"),
        ("Harvard-Oxford", "harvard_oxford"),
        ("brainnetome", "brainnetome"),
        ("bna246", "brainnetome"),
        ("glasser", "glasser"),
        ("HCP-MMP1", "glasser"),
        ("neuromorphometrics", "neuromorphometrics"),
        ("LPBA40", "lpba40"),
        ("schaefer200", "schaefer_200_7"),
        ("Schaefer2018_200Parcels_7Networks", "schaefer_200_7"),
        ("Schaefer2018_400Parcels_17Networks_order", "schaefer_400_17"),
        ("Schaefer2018_desc-100Parcels17Networks", "schaefer_100_17"),
        ("schaefer 300 7", "schaefer_300_7"),
    ],
)
def test_atlases_by_other_names(spelling, name):
    assert load_atlas(spelling) is load_atlas(name)
    assert load_atlas(spelling).name == name


@pytest.mark.parametrize("name", ["", "schaefer", "schaefer500", "schaefer_200_8", "aal4"])
def test_an_unknown_atlas_names_those_there_are(name):
    said = (
        r"desikan_killiany, destrieux, aal, aal2, aal3, dkt, .*lpba40, schaefer_N_7 and "
        r"schaefer_N_17, where N is 100, 200, 300 or 400, .*read_atlas"
    )
    with pytest.raises(InputError, match=said):
        load_atlas(name)


def test_atlases_of_schaefer_are_asked_only_about_names_of_its_networks():
    few = atlases_for(["lh_insula_thickness", "Amygdala_L", "age"])
    assert few == [name for name in ATLASES if not name.startswith("schaefer")]
    for name in NOT_SYMMETRIC:
        for region in load_atlas(name).regions:
            assert atlases_for([region.name]) == list(ATLASES)


def test_aseg_is_shared_by_the_cortical_atlases():
    shared = set(load_atlas("dk").regions) & set(load_atlas("destrieux").regions)
    assert len(shared) == ASEG
    assert shared < set(load_atlas("dkt").regions)
    assert all(is_aseg(region) for region in shared)
    assert not any(is_aseg(region) for region in load_atlas("aal").regions)
