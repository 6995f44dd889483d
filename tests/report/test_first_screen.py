from dataclasses import replace

from sgbn.comparison.figures import difference_stems, plans
from sgbn.comparison.report import (
    BRAIN,
    CIRCLE,
    DIFFERENCES,
    FOREST,
    first_plans,
    first_screen,
    first_stem,
)


def test_pictures_of_the_first_screen_are_those_of_the_files_in_other_sizes(compared):
    planned = plans(compared)
    first = first_plans(compared, planned)
    assert set(first) == {DIFFERENCES, FOREST}
    assert first[DIFFERENCES].plot.func is planned["differences_brain"].plot.func
    assert first[DIFFERENCES].plot.keywords["title"] == ""  # the caption says it
    assert first[DIFFERENCES].inches < planned["differences_brain"].inches
    assert first[FOREST].plot.func is planned["forest"].plot.func
    assert list(first[FOREST].plot.keywords["tables"]) == ["patient"]


def test_of_several_groups_the_forest_shows_one(three_groups):
    planned = plans(three_groups)
    assert list(planned["forest"].plot.keywords["tables"]) == ["b", "c"]
    first = first_plans(three_groups, planned)
    assert len(first[FOREST].plot.keywords["tables"]) == 1


def test_without_places_the_circle_stands_for_the_brain(three_groups):
    stem = first_stem(three_groups)
    circle = next(iter(plans(three_groups).values()))
    found = first_plans(three_groups, {f"{stem}_{CIRCLE}": circle})
    assert list(found) == [DIFFERENCES, FOREST]
    shown = first_screen(three_groups, found)
    assert (shown["shape"], shown["differences"], shown["forest"]) == (CIRCLE, DIFFERENCES, FOREST)


def test_pictures_of_files_stand_in_where_no_other_is_there(compared):
    shown = first_screen(compared, {"differences_brain", "forest"})
    assert (shown["differences"], shown["forest"]) == ("differences_brain", "forest")
    assert shown["shape"] == BRAIN


def test_nothing_tested_is_a_first_screen_without_pictures(compared):
    untested = replace(compared, tests=None)
    shown = first_screen(untested, first_plans(untested, plans(untested)))
    assert (shown["differences"], shown["forest"]) == ("", "")
    assert shown["verdict"]


def test_the_group_that_differs_most_is_shown(three_groups):
    table = three_groups.tables.differences
    for group in ("b", "c"):
        far = table.assign(**{f"weight_std_{group}": table["weight_std_a"] + 5.0}, q_both=0.01)
        known = replace(three_groups)
        vars(known)["tables"] = three_groups.tables._replace(differences=far)
        assert first_stem(known) == difference_stems(three_groups.groups)[group]


def test_groups_and_their_sizes_are_said(compared):
    shown = first_screen(compared, {})
    assert shown["sizes"] == [("control", 60), ("patient", 60)]
    assert shown["regions"] == 12
