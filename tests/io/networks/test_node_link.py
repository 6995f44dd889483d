import json

import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.write.formats import (
    named_graph,
    network_text,
    read_network,
    read_node_link,
    write_network,
)
from sgbn.write.network_files import write_node_link


def test_all_is_read_back_to_the_last_bit(tmp_path, nasty):
    supported = np.zeros(nasty.coef.shape, bool)
    supported[tuple(np.argwhere(nasty.coef)[1])] = True
    found = read_network(write_node_link(tmp_path / "n.json", nasty, supported=supported))
    assert found.names == nasty.names
    for part in ("coef", "intercept", "noise_variance"):
        np.testing.assert_array_equal(getattr(found.network, part), getattr(nasty, part))
    np.testing.assert_array_equal(found.supported, supported)


def test_a_file_that_is_converted_to_the_same_format_keeps_all_that_is_read(tmp_path, nasty):
    supported = np.zeros(nasty.coef.shape, bool)
    supported[tuple(np.argwhere(nasty.coef)[1])] = True
    first = read_network(write_node_link(tmp_path / "n.json", nasty, supported=supported))
    again = read_network(write_network(tmp_path / "again.json", first))
    assert again.names == first.names
    for part in ("coef", "intercept", "noise_variance"):
        np.testing.assert_array_equal(getattr(again.network, part), getattr(nasty, part))
    np.testing.assert_array_equal(again.supported, supported)


def test_a_network_without_half_samples_does_not_say_which_directions_are_supported(nasty):
    assert read_node_link(network_text(nasty, "json")).supported is None


def test_a_mask_of_another_size_is_refused(tmp_path, nasty):
    for given in (nasty, named_graph(nasty)):
        with pytest.raises(InputError, match=r"supported has shape \(2, 2\)"):
            write_network(tmp_path / "n.json", given, supported=np.ones((2, 2)))


@pytest.mark.parametrize("said", [True, False])
def test_one_edge_that_does_not_say_leaves_unknown_which_are_supported(said):
    edges = [{"source": "a", "target": end, "supported": True} for end in "bc"]
    if not said:
        del edges[1]["supported"]
    nodes = [{"id": name} for name in "abc"]
    found = read_node_link(json.dumps({"directed": True, "nodes": nodes, "edges": edges}))
    assert np.argwhere(found.graph).tolist() == [[0, 1], [0, 2]]
    assert (found.supported is not None) == said


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"nodes": None}, "no lists 'nodes' and 'edges'"),
        ({"directed": False}, "not directed"),
        ({"nodes": [{"id": 1}]}, "node 1: 'id' is missing or is not text"),
        ({"nodes": [{"id": "a"}, {"id": "a"}]}, "same id"),
        ({"edges": [{"source": "a", "target": "z"}]}, "edge 1: there is no node 'z'"),
        ({"edges": [{"source": "a", "target": "b", "weight": "1"}]}, "edge 1: weight"),
        ({"nodes": [{"id": "a", "noise_variance": -1}]}, "negative"),
    ],
)
def test_what_is_no_network_is_refused(change, match):
    content = {"directed": True, "nodes": [{"id": "a"}, {"id": "b"}], "edges": []}
    with pytest.raises(InputError, match=match):
        read_node_link(json.dumps(content | change))


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 10_000, '{"nodes": [], "edges": []}'])
def test_other_json_is_refused(text):
    with pytest.raises(InputError):
        read_node_link(text)
