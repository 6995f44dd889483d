import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.program_texts import read_sem

BY_HAND = """
# a model as one writes it by hand
y ~ b1*x +
    z   # goes on
z ~ 2*x; z ~~ 0.5*z
x ~~ 0*w
w ~ 0*1 ! an intercept
"""


def test_a_model_written_by_hand_is_read():
    found = read_sem(BY_HAND)
    edges = {found.names[i] + found.names[j] for i, j in zip(*found.graph.nonzero(), strict=True)}
    assert edges == {"xy", "zy", "xz"}
    assert set(found.names) == set("wxyz")
    assert found.network is None


def test_values_make_a_network():
    text = "y ~ start(-1.5e-3)*x\nx ~~ 2*x\ny ~~ p*y\nSTART(3) p\ny ~ 7*1"
    network = read_sem(text).network
    assert network.edges().tolist() == [("x", "y", -0.0015)]
    assert dict(zip(network.names, network.noise_variance, strict=True)) == {"x": 2, "y": 3}
    assert dict(zip(network.names, network.intercept, strict=True)) == {"x": 0, "y": 7}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("f =~ a + b", "line 1: 'f' is a latent variable"),
        ("a ~ b\na ~~ b", "line 2: a ~~ b is a covariance"),
        ("a ~ b\n\na ~ c(1, 2)*d", "line 3: the term"),
        ("a ~ b + b", "second edge"),
        ("a := b*c", "line 1: .* is not a formula"),
        ("a ~ a", "edge to itself"),
        ("a ~ b\nb ~ a", "directed cycle"),
        ("a ~~ -1*a", "negative"),
        ("a ~ b +", "line 1: the term ''"),
    ],
)
def test_what_is_no_network_is_refused_by_line(text, match):
    with pytest.raises(InputError, match=match):
        read_sem(text)
