from dataclasses import replace

import pytest

from sgbn.comparison.report import DIFFERENCES, FOREST, captions, titles_of_networks


def test_every_caption_of_the_file_is_complete(compared, three_groups):
    for comparison in (compared, three_groups):
        for alt, caption in captions(comparison).values():
            assert alt.endswith(".")
            assert caption.endswith(".")
            assert not {"{", "}"} & set(alt + caption)


def test_pictures_of_the_first_screen_and_of_files_have_captions(compared):
    assert {DIFFERENCES, FOREST, "differences_brain", "forest"} <= set(captions(compared))


def test_the_caption_says_whether_anything_differs(compared, nothing_differs):
    assert "no pair differs both ways" in captions(nothing_differs)[DIFFERENCES][1]
    by_chance = "by chance alone"
    assert by_chance in captions(nothing_differs)[FOREST][1]
    assert by_chance not in captions(compared)[FOREST][1]
    edges = nothing_differs.tests.edges.copy()
    edges["q"][0] = 0.01
    one_way = replace(nothing_differs, tests=replace(nothing_differs.tests, edges=edges))
    assert "a change of variance can cause" in captions(one_way)[FOREST][1]
    assert by_chance not in captions(one_way)[FOREST][1]


@pytest.mark.parametrize("comparison", ["compared", "three_groups"])
def test_names_of_groups_reach_the_captions(request, comparison):
    found = request.getfixturevalue(comparison)
    words = captions(found)
    for group in found.groups[1:]:
        name = f"differences_{group}_matrix" if len(found.groups) > 2 else "differences_matrix"
        assert f"from {found.groups[0]} to {group}" in words[name][1]
    assert len(titles_of_networks(found)) == 2 * len(found.groups) - 1
