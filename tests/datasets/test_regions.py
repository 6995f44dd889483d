from collections import Counter
from statistics import median

import pytest

from sgbn.cohort.atlas import ATLASES, load_atlas
from sgbn.cohort.simulate import FLUID, FORTY, USUAL_VOLUME, choose_regions, twin_key, volume_of
from sgbn.core.exceptions import InputError


@pytest.mark.parametrize("name", ATLASES)
def test_none_takes_all_tissue_of_an_atlas(name):
    atlas = load_atlas(name)
    chosen = choose_regions(atlas, None)
    assert set(atlas.regions) - set(chosen) == {r for r in atlas.regions if r.lobe == FLUID}
    assert len(chosen) > 50


@pytest.mark.parametrize("name", ATLASES)
def test_every_region_has_at_most_one_twin_and_it_is_on_the_other_side(name):
    pairs: dict[str, list[str]] = {}
    for region in load_atlas(name).regions:
        pairs.setdefault(twin_key(region), []).append(region.hemisphere)
    assert all(len(set(sides)) == len(sides) <= 2 for sides in pairs.values())
    assert sum(sorted(sides) == ["L", "R"] for sides in pairs.values()) > 25


@pytest.mark.parametrize("name", ATLASES)
def test_so_many_are_in_pairs_over_all_lobes_and_in_the_atlas_order(name):
    atlas = load_atlas(name)
    chosen = choose_regions(atlas, 34)  # a pair of each of 17 networks
    assert len(chosen) == 34
    assert list(chosen) == sorted(chosen, key=atlas.regions.index)
    assert {region.lobe for region in chosen} == {r.lobe for r in choose_regions(atlas, None)}
    sides = Counter(region.hemisphere for region in chosen)
    twins = Counter(twin_key(region) for region in chosen if region.hemisphere)
    single = sum(count == 1 for count in twins.values())
    assert abs(sides["L"] - sides["R"]) <= single
    by_network = name.startswith(("schaefer", "glasser"))  # twins may be of two networks
    assert single <= (9 if by_network else 1)


def test_fewer_are_among_more():
    atlas = load_atlas("destrieux")
    assert set(choose_regions(atlas, 21)) < set(choose_regions(atlas, 22))


def test_forty_of_aal_are_a_fixed_list():
    chosen = choose_regions(load_atlas("aal"), 40)
    assert tuple(region.name for region in chosen) == FORTY
    assert chosen[0].name == "Frontal_Sup_L"
    assert sum(region.lobe == "medial temporal" for region in chosen) == 6


def test_named_regions_come_in_the_order_given_whatever_their_spelling():
    atlas = load_atlas("desikan_killiany")
    chosen = choose_regions(atlas, ["rh_insula_thickness", "Left-Hippocampus"])
    assert [region.name for region in chosen] == ["rh_insula", "Left-Hippocampus"]


def test_ventricles_are_taken_when_they_are_named():
    atlas = load_atlas("desikan_killiany")
    chosen = choose_regions(atlas, ["Left-Lateral-Ventricle", "3rd-Ventricle"])
    assert {region.lobe for region in chosen} == {FLUID}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["Insula_L", "Elbow_L"], "'aal' has no region 'Elbow_L'"),
        (["Insula_L"], "regions has length 1"),
        (["Insula_L", "insula_l"], "named twice"),
        ([], "regions has length 0"),
        (1, "Give 2 to 116"),
        (117, "Give 2 to 116"),
        (-3, "Give 2 to 116"),
        ("Insula_L", "Give a number, a list"),
        (True, "Give a number, a list"),
        (2.5, "Give a number, a list"),
    ],
)
def test_bad_regions_are_named(wanted, message):
    with pytest.raises(InputError, match=message):
        choose_regions(load_atlas("aal"), wanted)


def test_a_region_without_a_volume_has_the_usual_one():
    first, second = load_atlas("aal").regions[:2]
    assert volume_of(first) == first.volume_mm3 > 0
    assert volume_of(second._replace(volume_mm3=float("nan"))) == USUAL_VOLUME
    known = [r.volume_mm3 for name in ATLASES for r in load_atlas(name).regions if r.volume_mm3 > 0]
    assert 0.9 < USUAL_VOLUME / median(known) < 1.1
