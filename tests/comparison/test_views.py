import json
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from sgbn.write.draw.style import KIND_STYLES

figures = import_module("sgbn.comparison.figures")


@pytest.fixture(scope="module")
def comparison(compared):
    return replace(compared)  # without what other tests asked for


@pytest.fixture(scope="module")
def three(three_compared):
    """Three groups, of which the reference is not the first by name."""
    learners = {group: three_compared.learners[group] for group in "bac"}
    return replace(three_compared, learners=learners)


@pytest.fixture(autouse=True)
def small_mesh(monkeypatch):
    """No test here needs the surface itself."""
    surface = figures.Surface(np.eye(4, 3), np.array([[0, 1, 2], [0, 2, 3]]))
    monkeypatch.setattr(figures, "brain_mesh", lambda: {"left": surface, "right": surface})


def without_atlas(comparison):
    cohort = replace(comparison.cohort, atlas=None)
    return replace(comparison, review=replace(comparison.review, cohort=cohort))


def test_payload_is_json_and_the_same_each_time(comparison):
    text = json.dumps(figures.payload(comparison), allow_nan=False)
    assert text == json.dumps(figures.payload(comparison), allow_nan=False)
    assert json.loads(text) == figures.payload(comparison)


def test_nodes_are_the_regions_at_their_places(comparison):
    found, cohort = figures.payload(comparison), comparison.cohort
    assert found["nodes"]["name"] == list(cohort.labels.values())
    lobes = [found["lobes"][k]["name"] for k in found["nodes"]["lobe"]]
    assert lobes == list(cohort.lobes)
    for k, place in enumerate(cohort.places):
        assert [found["nodes"][axis][k] for axis in "xyz"] == [place.x, place.y, place.z]
        assert found["nodes"]["hemisphere"][k] == place.hemisphere


def test_networks_have_the_edges_of_each_group(comparison):
    found, table = figures.payload(comparison), comparison.tables.edges
    names = np.array(comparison.cohort.regions)
    assert found["groups"] == list(comparison.groups)
    for group, network in zip(found["groups"], found["networks"], strict=True):
        own = table[table["group"] == group]
        assert names[network["source"]].tolist() == own["source"].tolist()
        assert names[network["target"]].tolist() == own["target"].tolist()
        np.testing.assert_allclose(network["weight"], own["weight_std"], atol=1e-4)
        np.testing.assert_allclose(network["adjacent"], own["adjacent"], atol=1e-4)
        kinds = [found["kinds"][k]["arrow"] for k in network["kind"]]
        assert kinds == own["supported"].tolist()


def test_a_share_of_nothing_is_none(comparison):
    """An edge that no half sample has is found in no direction."""
    table = comparison.tables.edges
    never = table["adjacent"].to_numpy() == 0
    shares = [share for one in figures.payload(comparison)["networks"] for share in one["this_way"]]
    assert [share is None for share in shares] == never.tolist()


def test_changes_are_those_of_the_table(comparison):
    found, table = figures.payload(comparison)["differences"], comparison.tables.differences
    assert len(found["changes"]) == 1
    np.testing.assert_allclose(found["changes"][0], table["difference_std"], atol=1e-4)
    np.testing.assert_allclose(found["q"], table["q"], atol=1e-4)
    np.testing.assert_allclose(found["q_both"], table["q_both"], atol=1e-4)
    np.testing.assert_allclose(found["p_fwer"], table["p_fwer"], atol=1e-4)
    for group, shares in zip(comparison.groups, found["adjacent"], strict=True):
        np.testing.assert_allclose(shares, table[f"adjacent_{group}"], atol=1e-4)


def test_changes_of_three_groups_are_from_the_reference(three):
    found, table = figures.payload(three), three.tables.differences
    changes, weights = found["differences"]["changes"], found["differences"]["weights"]
    assert found["groups"] == ["b", "a", "c"]
    for k in (1, 2):
        change = np.subtract(weights[k], weights[0])
        np.testing.assert_allclose(changes[k - 1], change, atol=2e-4)
    signs = np.sign(table["weight_c"] - table["weight_b"])
    large = np.abs(changes[1]) > 1e-3
    np.testing.assert_array_equal(np.sign(changes[1])[large], signs[large])


def test_each_change_has_its_kind_and_each_kind_its_look(three):
    found, table = figures.payload(three), three.tables.differences
    names = [one["name"] for one in found["changes"]]
    assert names == list(KIND_STYLES)
    for looks in (("colour",), ("dark",), ("dash",), ("symbol",)):
        assert len({tuple(one[name] for name in looks) for one in found["changes"]}) == len(names)
    for group, codes in zip(three.groups[1:], found["differences"]["change"], strict=True):
        assert [names[code] for code in codes] == table[f"kind_{group}"].tolist()


def test_without_half_samples_confidence_is_none(three):
    shares = ["adjacent", "this_way", *(f"adjacent_{group}" for group in three.groups)]
    bare = replace(three)
    vars(bare)["tables"] = three.tables._replace(
        **{
            name: getattr(three.tables, name).drop(columns=shares, errors="ignore")
            for name in ("edges", "differences")
        }
    )
    found = figures.payload(bare)
    assert all(one["adjacent"] is one["this_way"] is None for one in found["networks"])
    assert found["differences"]["adjacent"] == [None] * 3


def test_without_tests_there_are_no_differences(comparison):
    assert figures.payload(replace(comparison, tests=None))["differences"] is None


def test_without_atlas_there_is_no_place_and_no_mesh(comparison):
    found = figures.payload(without_atlas(comparison))
    assert set(found["nodes"]["x"]) == {None}
    assert found["mesh"] is None
    assert [lobe["name"] for lobe in found["lobes"]] == ["unknown"]
    assert found["has_lobes"] is False
    assert figures.payload(comparison)["has_lobes"] is True


def test_mesh_is_none_without_the_extra(comparison, monkeypatch):
    monkeypatch.setattr(figures, "brain_mesh", lambda: None)
    assert figures.payload(comparison)["mesh"] is None


def test_mesh_has_both_sides(comparison):
    sides = figures.payload(comparison)["mesh"]
    assert len(sides) == 2
    assert all([*side] == list("xyzijk") for side in sides)
    assert sides[0]["j"] == [1, 2]
    assert sides[0]["x"] == [1.0, 0.0, 0.0, 0.0]


def test_only_supported_edges_are_arrows(comparison):
    arrow = {kind["name"]: kind["arrow"] for kind in figures.payload(comparison)["kinds"]}
    assert arrow == {"supported": True, "not supported": False}
    for sure in (True, False):
        edges = comparison.tables.edges.assign(supported=sure)
        known = replace(comparison)
        vars(known)["tables"] = comparison.tables._replace(edges=edges)
        found = figures.payload(known)
        codes = {code for network in found["networks"] for code in network["kind"]}
        assert [found["kinds"][code]["arrow"] for code in codes] == [sure]


def test_lobes_do_not_look_the_same():
    looks = figures._lobes([str(k) for k in range(len(figures.PALETTE) * len(figures.SYMBOLS))])
    assert len({(one["colour"], one["symbol"]) for one in looks}) == len(looks)


def test_numbers_know_no_nan_and_no_minus_zero():
    found = figures.numbers([np.nan, None, np.inf, -1e-9, 0.123456])
    assert found == [None, None, None, 0.0, 0.1235]
    assert str(found[3]) == "0.0"


def test_inputs_stay_as_they_are(comparison):
    regions, edges = comparison.regions.copy(), comparison.tests.edges.copy()
    figures.payload(comparison)
    assert regions.equals(comparison.regions)
    assert edges.tolist() == comparison.tests.edges.tolist()


def test_labels_of_nasty_names_differ(nasty):
    assert len(set(nasty.cohort.labels.values())) == len(nasty.cohort.regions)
