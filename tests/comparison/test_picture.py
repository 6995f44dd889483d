from dataclasses import replace

import matplotlib.pyplot as plt
import pytest
from tests.codes import refused


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def names_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_surest_differences_are_drawn_in_a_figure_that_pyplot_knows(odd_names):
    ax = odd_names.plot()
    assert plt.gcf() is ax.figure
    assert ax.get_title() == "Change from <b>ill to well: 1 pair differs both ways (q ≤ 0.05)"
    assert len(names_of(ax)) == len(odd_names.differences)
    assert names_of(ax)[0] in (r"a – b\$x\$", r"b\$x\$ – a")
    ax.figure.canvas.draw()


def test_axes_and_the_number_of_edges_can_be_chosen(odd_names):
    _, ax = plt.subplots()
    assert odd_names.plot(ax=ax, top=1) is ax
    assert len(names_of(ax)) == 1


def test_of_three_groups_the_pair_is_drawn_that_is_named(three_groups):
    ax = three_groups.plot("c")
    pair = three_groups.tables.pairwise.query("group == 'a' and other == 'c'")
    first = pair.sort_values("p", kind="stable").iloc[0]
    drawn = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    assert any(x == pytest.approx(first["difference_std"]) for x in drawn)
    for group in (None, "d", "a"):
        with refused("groups.unknown"):
            three_groups.plot(group)
    together = replace(three_groups, tests=replace(three_groups.tests, pairwise={}))
    with refused("result.all-together"):
        together.plot("c")


def test_regions_of_an_atlas_have_readable_names(whole):
    assert all(name[:2] in ("L ", "R ") for name in names_of(whole.plot()))


def test_without_tests_there_is_nothing_to_draw(networks_alone):
    with refused("result.untested"):
        networks_alone.plot()
