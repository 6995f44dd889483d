"""The atlases of the package."""

from __future__ import annotations

import math

import pytest

from sgbn.atlases import ATLASES, load_atlas
from sgbn.atlases.library import is_aseg
from sgbn.exceptions import InputError

SIZES = {"desikan_killiany": 104, "destrieux": 184, "aal": 116, "aal2": 120, "aal3": 166}


@pytest.mark.parametrize("name", ATLASES)
def test_regions_have_a_place_on_their_side(name):
    regions = load_atlas(name).regions
    assert len(regions) == SIZES[name]
    assert len({region.name for region in regions}) == len(regions)
    for region in regions:
        assert region.lobe
        assert region.volume_mm3 > 0
        assert all(math.isfinite(v) and abs(v) < 110 for v in (region.x, region.y, region.z))
        assert {"L": region.x < 0, "R": region.x > 0, "": abs(region.x) < 5}[region.hemisphere]


@pytest.mark.parametrize("name", ATLASES)
def test_both_hemispheres_have_the_same_regions(name):
    sides = [region.hemisphere for region in load_atlas(name).regions]
    assert sides.count("L") == sides.count("R") > 40


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
    ],
)
def test_atlases_by_other_names(spelling, name):
    assert load_atlas(spelling) is load_atlas(name)
    assert load_atlas(spelling).name == name


@pytest.mark.parametrize("name", ["", "schaefer", "aal4"])
def test_an_unknown_atlas_names_those_there_are(name):
    with pytest.raises(
        InputError, match=r"desikan_killiany, destrieux, aal, aal2, aal3.*read_atlas"
    ):
        load_atlas(name)


def test_aseg_is_shared_by_both_cortical_atlases():
    shared = set(load_atlas("dk").regions) & set(load_atlas("destrieux").regions)
    assert len(shared) == 36
    assert all(is_aseg(region) for region in shared)
    assert not any(is_aseg(region) for region in load_atlas("aal").regions)
