from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from sgbn.report.figures import Pictures, figures, layout_of, picture, plans, rounded, undecided


def test_everything_that_was_found_is_drawn(compared):
    assert set(plans(compared)) == {
        *(
            f"network_{g}_{k}"
            for g in ("control", "patient")
            for k in ("matrix", "brain", "circle")
        ),
        *("differences_matrix", "differences_brain", "permutations", "accuracy", "refinements"),
    }


def test_what_was_not_found_is_not_drawn(compared):
    bare = replace(compared, differences=None, accuracy=None, refinements={})
    assert {name.split("_")[0] for name in plans(bare)} == {"network"}


def test_without_places_there_is_no_brain(three_groups):
    assert not any(name.endswith("brain") for name in plans(three_groups))
    assert not layout_of(three_groups).located


def test_names_of_groups_are_safe_in_files(nasty):
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz_0123456789") for name in plans(nasty))
    assert len([name for name in plans(nasty) if name.endswith("_matrix")]) == 3


def test_all_figures_of_nasty_names_can_be_written(nasty):
    for figure in figures(nasty).values():
        ElementTree.fromstring(picture(figure))


@pytest.mark.parametrize("name", ["network_control_matrix", "permutations"])
def test_the_same_comparison_gives_the_same_file(compared, name):
    first, second = (Pictures(compared).file(name) for _ in range(2))
    assert first == second
    assert b"<dc:date>" not in first


def test_a_picture_is_drawn_once(compared):
    pictures = Pictures(compared)
    assert pictures.file("permutations") is pictures.file("permutations")
    assert pictures.file("permutations", "png").startswith(b"\x89PNG")
    assert pictures.address("permutations").startswith("data:image/svg+xml;base64,")
    assert "permutations" in pictures
    assert "no such" not in pictures


def test_undecided_arrows_are_the_reversible_ones(compared):
    learner = compared.learners["control"]
    marks = undecided(learner)
    kinds = dict(zip(map(tuple, np.argwhere(learner.coef_)), learner.edge_kinds_, strict=True))
    assert all(marks[place] == (kind == "reversible") for place, kind in kinds.items())
    assert marks.sum() == list(kinds.values()).count("reversible")


def test_rounding_touches_paths_only_and_by_less_than_a_tenth():
    svg = b'<g transform="scale(0.015625)"><path d="M 1.2345 2.06\nL 3 4.99 "/></g>'
    assert rounded(svg) == b'<g transform="scale(0.015625)"><path d="M 1.2 2.0 L 3 4.9 "/></g>'


def test_the_picture_of_the_page_is_smaller_and_whole(compared):
    svg = Pictures(compared).file("differences_brain")
    assert len(rounded(svg)) < len(svg)
    ElementTree.fromstring(rounded(svg))
