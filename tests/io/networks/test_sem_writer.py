import pytest

from sgbn.write.formats import named_graph, write_lavaan, write_semopy


def formulas(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_model_of_a_graph_has_all_its_parameters_free(small):
    wanted = ["b ~ a + c", "d.e ~ b"]
    wanted += [f"{name} ~~ {name}" for name in ("a", "b", "c", "d.e")]
    wanted += [f"{name} ~ 1" for name in ("a", "b", "c", "d.e")]
    assert formulas(write_lavaan(named_graph(small))) == wanted
    semopy = write_semopy(named_graph(small))
    assert formulas(semopy) == [line.replace(".", "_") for line in wanted]


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        ("fixed", ["b ~ 0.5*a + -0.3333333333333333*c", "a ~~ 1.0*a", "b ~ 2.0*1"]),
        ("start", ["b ~ start(0.5)*a + start(-0.3333333333333333)*c", "a ~ start(1.0)*1"]),
    ],
)
def test_lavaan_takes_the_weights(small, weights, wanted):
    assert set(wanted) <= set(formulas(write_lavaan(named_graph(small), weights)))


def test_start_values_of_semopy_belong_to_named_parameters(small):
    lines = formulas(write_semopy(named_graph(small), "start"))
    assert lines[0] == "b ~ p3*a + p4*c"
    assert {"START(0.5) p3", "START(-0.3333333333333333) p4"} <= set(lines)
