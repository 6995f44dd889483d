import pytest

from sgbn.report.names import file_names, short_names


def test_names_are_safe_and_differ_whatever_the_case():
    groups = ["a/b", "a b", "A_B", "../x", "=", "con trol"]
    names = file_names(groups)
    assert list(names) == groups
    assert len({name.lower() for name in names.values()}) == len(groups)
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyzABX0123456789_-") for name in names.values()
    )


def test_a_plain_name_stays():
    assert file_names(["control"]) == {"control": "control"}


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["lh_insula_thickness", "rh_cuneus_thickness"], ["lh_insula", "rh_cuneus"]),
        (["vol.a", "vol.b"], ["a", "b"]),
        (["region1", "region2"], ["region1", "region2"]),  # a part of a word says something
        (["a_x", "a_x_x"], ["x", "x_x"]),
        (["a_", "a_b"], ["a_", "a_b"]),  # nothing would be left of the first
        (["only_one"], ["only_one"]),
        ([], []),
    ],
)
def test_words_that_all_names_share_are_left_out(names, short):
    assert short_names(names) == short
