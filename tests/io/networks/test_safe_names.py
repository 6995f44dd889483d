import re

import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.program_texts import RESERVED, name_comments, safe_names, true_names

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")

# cat(make.names(c(...), unique = TRUE)) of R 4.2.2
IN_R = {
    "7Networks_LH_Vis_1": "X7Networks_LH_Vis_1",
    "Left-Hippocampus": "Left.Hippocampus",
    'a "b"': "a..b.",
    "a|b:c[d]": "a.b.c.d.",
    "NA": "NA.",
    "graph": "graph",
    "x": "x",
    "end\\": "end.",
    "#c": "X.c",
    "=cmd()": "X.cmd..",
    "1": "X1",
    "a;b,c": "a.b.c",
    "a.b": "a.b",
    "a b": "a.b.1",
    ".2x": "X.2x",
    "_y": "X_y",
    "TRUE": "TRUE.",
    "": "X",
}


def test_names_are_those_of_r():
    assert safe_names(list(IN_R), PLAIN, ".", RESERVED) == IN_R


def test_no_two_names_are_the_same():
    names = ["a b", "a_b", "a-b", "a_b_1", "日", "本", "A_B"]
    found = safe_names(names, PLAIN)
    assert len(set(found.values())) == len(names)
    assert found["a_b"] == "a_b"
    assert found["A_B"] == "A_B"
    other = safe_names(names, PLAIN, ignore_case=True)
    assert len({name.lower() for name in other.values()}) == len(names)


def test_a_reserved_name_is_replaced():
    assert safe_names(["graph"], PLAIN, reserved=["graph"]) == {"graph": "graph_1"}


@pytest.mark.parametrize("mark", ["#", "//"])
def test_comments_hold_any_name(mark):
    names = {"a\nb\u2028": "a_b", 'q"\\': "q_", "same": "same"}
    lines = name_comments(names, mark)
    assert len(lines) == 2
    assert true_names("\n".join(["x ~ y", *lines])) == {"a_b": "a\nb\u2028", "q_": 'q"\\'}


def test_a_damaged_comment_is_refused_by_line():
    with pytest.raises(InputError, match=r"line 2: the comment .*'a' is damaged"):
        true_names('x\n# sgbn name: a = "\\x"')
