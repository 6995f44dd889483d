import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.network import NamedGraph
from sgbn.write.formats import MAX_PARENTS, named_graph, read_bif_text, write_bif


def test_the_file_says_that_its_probabilities_mean_nothing(small):
    text = write_bif(named_graph(small))
    assert text.startswith("// Structure only: the probabilities are placeholders")
    assert "probability ( b | a, c ) {\n  (low, low) 0.5, 0.5;\n" in text
    assert '// sgbn name: d_e = "d e"' in text


def test_names_that_differ_in_case_only_are_told_apart():
    text = write_bif(NamedGraph(np.zeros((2, 2), bool), ("x", "X")))
    assert "variable x {" in text
    assert "variable X_1 {" in text
    assert read_bif_text(text).names == ("x", "X")


def test_a_table_that_would_be_huge_is_refused():
    m = MAX_PARENTS + 2
    graph = np.zeros((m, m), bool)
    graph[:-1, -1] = True
    with pytest.raises(InputError, match=f"'x{m - 1}' has {m - 1} parents"):
        write_bif(NamedGraph(graph, tuple(f"x{k}" for k in range(m))))
