import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.write.formats import named_graph, read_dagitty, write_dagitty

# As the web page writes a graph: a bounding box, positions, roles.
FROM_THE_PAGE = """dag {
bb="0,0,1,1"
"Warm Up" [exposure,pos="0.1,0.2"]
Injury [outcome,pos="0.5,0.6"]
U [latent]
"Warm Up" -> Injury [pos="0.3,0.4"]
Injury <- U
}
"""


def test_beta_is_the_standardised_weight_and_coef_the_weight(small):
    text = write_dagitty(named_graph(small))
    beta = float(2.0 * (np.sqrt(small.covariance[1, 1]) / np.sqrt(small.covariance[3, 3])))
    assert f'"b" -> "d e" [beta="{beta!r}",coef="2.0"]' in text
    assert text.startswith("dag {\n")


def test_a_constant_node_has_no_beta():
    network = GaussianNetwork([[0, 1.0], [0, 0]], noise_variance=[0, 0])
    assert "beta" not in write_dagitty(named_graph(network))
    assert read_dagitty(write_dagitty(named_graph(network))).network.coef[0, 1] == 1


def test_lines_make_a_pdag_and_have_no_weight(small):
    text = write_dagitty(named_graph(small, "supported"))
    assert text.startswith("pdag {\n")
    assert '"a" -- "b"\n' in text


def test_a_graph_of_the_web_page_is_read():
    found = read_dagitty(FROM_THE_PAGE)
    assert found.names == ("Warm Up", "Injury", "U")
    assert found.graph.tolist() == [[False, True, False], [False] * 3, [False, True, False]]
    assert found.network is None


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("dag { a <-> b }", "neither an arrow"),
        ("pdag {\n a @-> b }", "line 2: a @-> b is neither"),
        ("mag { a -> b }", "expected dag or pdag"),
        ('dag { a [sgbn_name="c"] b [sgbn_name="c"] }', "two variables .* true name 'c'"),
    ],
)
def test_what_is_no_network_is_refused(text, match):
    with pytest.raises(InputError, match=match):
        read_dagitty(text)


@pytest.mark.parametrize("name", ["graph", "node"])
def test_names_that_dagitty_refuses_are_replaced(name):
    network = GaussianNetwork([[0.0]], names=[name])
    text = write_dagitty(named_graph(network))
    assert f'"{name}_1" [sgbn_name="{name}"' in text
    assert read_dagitty(text).names == (name,)
