import pytest

from sgbn.cli.compare import split_edge
from sgbn.core.exceptions import InputError


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        ("a:b", ("a", "b")),
        ("a:c:d", ("a", "c:d")),
        ("c:d:a", ("c:d", "a")),
        ("c:d:e:f", ("c:d", "e:f")),
    ],
)
def test_an_edge_is_split_where_both_parts_are_regions(text, edge):
    assert split_edge(text, ["a", "b", "c:d", "e:f"]) == edge


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:bb", "no region is called 'bb'. Did you mean 'bbb'"),
        ("x:bbb", "no region is called 'x'"),
        ("a:b:c", "can be read as 'a' to 'b:c' or 'a:b' to 'c'"),
    ],
)
def test_an_edge_that_cannot_be_split_names_what_is_not_known(text, message):
    with pytest.raises(InputError, match=message):
        split_edge(text, ["a", "bbb", "a:b", "b:c", "c"])
