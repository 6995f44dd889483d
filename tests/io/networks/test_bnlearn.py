import pytest

from sgbn.core.exceptions import InputError
from sgbn.write.formats import (
    named_graph,
    read_model_string,
    read_script,
    write_model_string,
    write_script,
)


def test_the_first_line_is_the_model_string(small, nasty):
    assert write_model_string(named_graph(small)) == "[a][b|a:c][c][d e|b]\n"
    first, *comments = write_model_string(named_graph(nasty)).splitlines()
    assert first.count("[") == first.count("]") == nasty.m
    assert all(line.startswith("# sgbn name: ") for line in comments)


def test_a_model_string_of_bnlearn_is_read():
    # modelstring(model2network(...)): nodes stand in topological order
    found = read_model_string("[asia][smoke][tub|asia][lung|smoke]\n[either|lung:tub]\n")
    assert found.names == ("asia", "smoke", "tub", "lung", "either")
    assert [found.names[i] for i in found.graph[:, 4].nonzero()[0]] == ["tub", "lung"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[a][b|c]", "line 1: 'b' has the parent 'c', but .* no such node"),
        ("[a]\n[a]", "line 2: the node 'a' is there twice"),
        ("[a][b|a:a]", "second edge"),
        ("[a]b", "line 1: expected .* not 'b'"),
        ("[a|b][b|a]", "directed cycle"),
        ("", "no variable"),
    ],
)
def test_a_wrong_model_string_is_refused(text, match):
    with pytest.raises(InputError, match=match):
        read_model_string(text)


def test_a_script_says_what_custom_fit_needs(small):
    script = write_script(named_graph(small))
    assert (
        '"b" = list(coef = c("(Intercept)" = 2.0, "a" = 0.5, "c" = -0.3333333333333333)' in script
    )
    assert 'model <- "[a][b|a:c][c][d e|b]"' in script


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("model <-", "other <-", "no line 'model <-"),
        ('"a" = 0.5', '"c" = 0.5', "second edge|differ from the parents"),
        ('"a" = 0.5, ', "", "differ from the parents"),
        ('"a" = 0.5', '"a" = exp(1)', "expected coefficients"),
        ('"a" = 0.5', '"a" = 1e999', "finite number"),
        ('"a" = 0.5', r'"\a" = 0.5', r"line \d+: .* is not text\. Correct the line"),
        ("sd = 1.0", "sd = -1.0", "negative"),
        ("sd = 1.0", "sd = 1e200", "infinity"),
    ],
)
def test_a_script_that_contradicts_itself_is_refused(small, old, new, match):
    script = write_script(named_graph(small))
    assert old in script
    with pytest.raises(InputError, match=match):
        read_script(script.replace(old, new))
