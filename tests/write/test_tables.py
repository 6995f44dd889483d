import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.codes import refused

from sgbn.cohort.atlas import load_atlas
from sgbn.core.gaussian import GaussianNetwork
from sgbn.inference.confidence import edge_confidence
from sgbn.learn.confidence import MIN_ADJACENCY, MIN_DIRECTION
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.write.tables import (
    FORMULA_STARTS,
    beside,
    check_text,
    edge_table,
    file_names,
    node_table,
    standardised_weights,
    to_frame,
    with_columns,
    write_csv,
    write_file,
    write_json,
    write_matrix,
    write_text,
)

COLUMNS = ["source", "target", "weight", "weight_std", "supported", "graph_direction"]


def test_the_strongest_edge_comes_first():
    network = GaussianNetwork([[0, 0.2, -0.9], [0, 0, 0.5], [0, 0, 0]], names=["a", "b", "c"])
    table = edge_table(network)
    assert table.columns.tolist() == COLUMNS
    assert table.iloc[:, :3].to_numpy().tolist() == [
        ["a", "c", -0.9],
        ["b", "c", 0.5],
        ["a", "b", 0.2],
    ]
    sd = np.sqrt(np.diag(network.covariance))
    np.testing.assert_allclose(
        table["weight_std"], [-0.9 / sd[2], 0.5 * sd[1] / sd[2], 0.2 / sd[1]]
    )


def test_units_do_not_decide_which_edge_is_strongest():
    """b is in units a thousand times smaller: its weight is large, its edge is weak."""
    network = GaussianNetwork(
        [[0, 300.0, 0.9], [0, 0, 0], [0, 0, 0]], noise_variance=[1, 1e6, 1], names=["a", "b", "c"]
    )
    assert edge_table(network)["target"].tolist() == ["c", "b"]


def test_a_fitted_learner_will_do(simulate):
    X, _ = simulate(5, 60, 0)
    learner = ORSGBN().fit(X)
    assert edge_table(learner).equals(edge_table(learner.network_))


def test_each_edge_says_what_its_direction_rests_on():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5))
    X[:, 2] += X[:, 0] + X[:, 1]  # a collision, which data show
    X[:, 4] += X[:, 3]  # a pair, which they do not
    learner = SGBN().fit(X)
    kinds = edge_table(learner).set_index(["source", "target"])["graph_direction"].to_dict()
    assert kinds[("x0", "x2")] == kinds[("x1", "x2")] == "compelled"
    assert {kinds.get(("x3", "x4")), kinds.get(("x4", "x3"))} == {"reversible", None}
    assert edge_table(learner.network_).equals(edge_table(learner))
    known = edge_table(SGBN(tiers=[["x4"], ["x3"]]).fit(X)).set_index(["source", "target"])
    assert known.loc[("x4", "x3"), "graph_direction"] == "prior knowledge"
    equal = edge_table(SGBN(noise="equal").fit(X)).set_index(["source", "target"])
    assert equal.loc[("x3", "x4"), "graph_direction"] == "equal variances"


@pytest.fixture(scope="module")
def collision():
    """Rows in which only x0 -> x2 <- x1 has a direction that halves agree on."""
    X = np.random.default_rng(0).standard_normal((300, 4))
    X[:, 2] += X[:, 0] + X[:, 1]
    return X


def test_an_ensemble_says_which_directions_are_supported(collision):
    learner = SGBNEnsemble(n_chains=4, n_pairs=5, min_direction=0.75).fit(collision)
    table = edge_table(learner).set_index(["source", "target"])
    for (source, target), row in table.iterrows():
        i, j = int(source[1]), int(target[1])
        assert row["supported"] == learner.supported_[i, j]
        assert row["adjacent"] == learner.adjacency_[i, j]
        assert row["this_way"] == learner.arrow_[i, j] / learner.adjacency_[i, j]
        assert (row["low"], row["high"]) == (learner.coef_low_[i, j], learner.coef_high_[i, j])
        assert row["low"] < row["weight"] < row["high"]
    assert table.loc[[("x0", "x2"), ("x1", "x2")], "supported"].all()


def test_nothing_is_supported_unless_something_says_so(collision):
    learner = SGBN().fit(collision)
    assert not edge_table(learner)["supported"].any()
    assert "adjacent" not in edge_table(learner)
    assert edge_table(learner, supported=learner.coef_ > 0)["supported"].all()
    halves = edge_confidence(collision, SGBN(), n_pairs=3)
    table = edge_table(learner, confidence=halves)
    is_supported = (table.adjacent >= MIN_ADJACENCY) & (table.this_way >= MIN_DIRECTION)
    assert table["supported"].tolist() == is_supported.tolist()
    assert table["supported"].any()


def test_a_network_without_edges_is_an_empty_table():
    assert edge_table(GaussianNetwork([[0, 0], [0, 0]])).empty


def test_a_node_knows_its_place_and_its_strength():
    names = ["lh_insula_thickness", "Left-Hippocampus", "Brain-Stem", "my region"]
    coef = np.zeros((4, 4))
    coef[0, 1], coef[2, 1], coef[1, 3] = 0.5, -2.0, 3.0
    network = GaussianNetwork(coef, names=names)
    table = node_table(network, "dk").set_index("region")
    assert list(table.index) == names
    assert table.loc[names[0], "label"] == "lh_insula"
    assert table["hemisphere"].tolist() == ["L", "L", "", ""]
    assert table.loc["my region", ["label", "lobe"]].tolist() == ["", "unknown"]
    place = load_atlas("dk").find("lh_insula")
    assert table.loc[names[0], ["x", "y", "z"]].tolist() == [place.x, place.y, place.z]
    assert table[["x", "y", "z"]].isna().all(axis=1).tolist() == [False, False, False, True]
    assert table["parents"].tolist() == [0, 2, 0, 1]
    assert table["children"].tolist() == [1, 1, 1, 0]
    edges = edge_table(network)
    for end, column in (("source", "out_strength"), ("target", "in_strength")):
        sums = edges["weight_std"].abs().groupby(edges[end]).sum()
        np.testing.assert_allclose(table[column], sums.reindex(names, fill_value=0.0))


def test_without_an_atlas_no_place_is_known(simulate):
    X, _ = simulate(5, 60, 0)
    learner = ORSGBN().fit(X)
    table = node_table(learner)
    assert table[["x", "y", "z"]].isna().all(axis=None)
    assert (table["lobe"] == "unknown").all()
    assert table.equals(node_table(learner.network_))
    assert table["parents"].sum() == table["children"].sum() == len(edge_table(learner))


def test_an_edge_of_what_does_not_vary_has_no_standardised_weight():
    network = GaussianNetwork([[0, 1.0], [0, 0]], names=["a", "b"])
    with refused("edge.constant"):
        standardised_weights(network.do({"a": 1.0}))
    assert np.count_nonzero(standardised_weights(network.do({"b": 1.0}))) == 0


def test_further_columns_are_found_by_the_ends_of_an_edge():
    network = GaussianNetwork([[0, 0.2, -0.9], [0, 0, 0.5], [0, 0, 0]], names=["a", "b", "c"])
    more = pd.DataFrame({"source": ["b", "c", "a"], "target": ["c", "a", "b"], "p": [0.1, 0.2, 1]})
    table = with_columns(edge_table(network), more)
    assert table["source"].tolist() == ["a", "b", "a"]
    np.testing.assert_array_equal(table["p"], [np.nan, 0.1, 1.0])
    assert with_columns(edge_table(network), None).equals(edge_table(network))


RECORDS = np.array(
    [("a", "b", 0.5), ("b", "c", -1.0)], [("source", "U1"), ("target", "U1"), ("w", float)]
)


@pytest.mark.parametrize("records", [RECORDS, RECORDS.view(np.recarray)])
def test_records_become_a_table_with_their_columns(records):
    expected = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "w": [0.5, -1.0]})
    pd.testing.assert_frame_equal(to_frame(records), expected)
    assert list(to_frame(records[:0]).columns) == ["source", "target", "w"]


def test_records_of_a_mapping_stand_below_each_other_with_their_keys():
    found = to_frame({("x", "y"): RECORDS, ("x", "z"): RECORDS[:1]}, "group", "other")
    assert list(found.columns) == ["group", "other", "source", "target", "w"]
    assert found["other"].tolist() == ["y", "y", "z"]
    assert found.index.tolist() == [0, 1, 2]
    assert to_frame({"CL": RECORDS}, "method")["method"].tolist() == ["CL", "CL"]
    assert to_frame({}, "method").empty


def more_columns(**more):
    edges = edge_table(GaussianNetwork([[0, 1], [0, 0]], names=["a", "b"]))
    return with_columns(edges, pd.DataFrame(more))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: edge_table(SGBN()), "network.none"),
        (lambda: edge_table(GaussianNetwork([[0]]), supported=np.ones((2, 2))), "argument.shape"),
        (lambda: more_columns(source=["a"], p=[1]), "more-columns.ends"),
        (lambda: more_columns(source=["a"], target=["b"], weight=[1]), "more-columns.twice"),
        (lambda: more_columns(source=["a", "a"], target=["b", "b"]), "more-columns.rows"),
        *((lambda given=given: to_frame(given), "records.type") for given in ([1, 2], None)),
        (lambda: to_frame(np.zeros((2, 2))), "records.type"),
        (lambda: to_frame(RECORDS, "group"), "records.names"),
        (lambda: to_frame({("x", "y"): RECORDS}, "group"), "records.names"),
        (lambda: beside("/", ".node"), "file.no-name"),
        *(
            (lambda text=text: check_text(["fine", text]), "name.characters")
            for text in ("a\x00", "a\nb", "\x85", "\ud800", "\uffff")
        ),
    ],
)
def test_what_makes_no_table_is_refused(call, code):
    with refused(code):
        call()


RISKY = tuple("=+-@\t\r\n")
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6),
    st.builds(str.__add__, st.sampled_from(FORMULA_STARTS), st.text("a1\r\n\",'", max_size=4)),
)


def cells(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_what_a_spreadsheet_would_run_is_shown_instead(tmp_path):
    table = pd.DataFrame({"=cmd()": ["+1", "-a", "@SUM(1)", "\tx", "＝1", "a=b", "'"], "n": -1.5})
    before = table.copy()
    path = write_csv(table, tmp_path / "a.csv")
    assert cells(path)[0] == ["'=cmd()", "n"]
    shown = [row[0] for row in cells(path)[1:]]
    assert shown == ["'+1", "'-a", "'@SUM(1)", "'\tx", "'＝1", "a=b", "'"]
    assert {row[1] for row in cells(path)[1:]} == {"-1.5"}
    with_tabs = write_matrix(tmp_path / "a.tsv", table, header=True)
    assert pd.read_csv(with_tabs, sep="\t", quotechar='"').columns.tolist() == ["'=cmd()", "n"]
    pd.testing.assert_frame_equal(table, before)


@given(names=st.lists(TEXT, min_size=1, max_size=4, unique=True), text=st.lists(TEXT, max_size=4))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_cell_begins_like_a_formula_and_none_is_lost(tmp_path, names, text):
    table = pd.DataFrame({name: np.array(text, dtype=object) for name in names})
    read = cells(write_csv(table, tmp_path / "a.csv"))
    # an empty line is an empty cell of a table with one column
    read = [row or [""] for row in read]
    assert [len(row) for row in read] == [len(names)] * (len(text) + 1)
    assert not any(cell.startswith(FORMULA_STARTS) for row in read for cell in row)
    for cell, written in zip(text, (row[0] for row in read[1:]), strict=True):
        wanted = cell.replace("\r\n", "\n").replace("\r", "\n")
        assert written == ("'" + wanted if cell.startswith(RISKY + FORMULA_STARTS) else wanted)


def test_numbers_keep_all_digits_and_mixed_columns_their_numbers(tmp_path):
    table = pd.DataFrame(
        {
            "x": [-1 / 3, np.nan, 1e-300],
            "mixed": pd.Series([-1, None, "-1"], dtype=object),
            "kind": pd.Categorical(["=a", "b", "=a"]),
            "ok": [True, False, True],
        }
    )
    read = cells(write_csv(table, tmp_path / "a.csv"))
    assert [float(row[0] or "nan") for row in read[1:]] == pytest.approx(
        table["x"].tolist(), rel=0, abs=0, nan_ok=True
    )
    assert [row[1:] for row in read[1:]] == [
        ["-1", "'=a", "True"],
        ["", "b", "False"],
        ["'-1", "'=a", "True"],
    ]


def test_names_that_are_alike_are_written_each(tmp_path):
    table = pd.DataFrame([["=a", "=b"]], columns=["x", "x"])
    assert cells(write_csv(table, tmp_path / "a.csv")) == [["x", "x"], ["'=a", "'=b"]]


def test_a_file_that_fails_midway_leaves_the_old_one(tmp_path):
    path = write_text(tmp_path / "a.txt", "old é")

    def fail(stream):
        stream.write(b"half")
        raise KeyError("midway")

    with pytest.raises(KeyError):
        write_file(path, fail)
    assert [found.name for found in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text(encoding="utf-8") == "old é"


@pytest.mark.parametrize(
    ("write", "code"),
    [
        (lambda folder: write_text(folder / "absent" / "a.txt", ""), "file.unwritable"),
        (lambda folder: write_text(folder / "a.csv", "\ud800"), "file.unwritable"),
        (lambda folder: write_csv([[1]], folder / "a.csv"), "table.type"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, write, code):
    with refused(code):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_json_keeps_its_order_and_has_no_nan(tmp_path):
    path = write_json(tmp_path / "a.json", {"b": 1, "a": [None, "é"]})
    assert list(json.loads(path.read_text())) == ["b", "a"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "b.json", {"a": float("nan")})


def test_a_matrix_has_all_digits(tmp_path):
    table = pd.DataFrame([[1 / 3, None], [0.0, -1e-300]], columns=["a b", 'c"d'])
    path = write_matrix(tmp_path / "a.tsv", table, header=True)
    pd.testing.assert_frame_equal(pd.read_csv(path, sep="\t"), table)
    assert "\tn/a\n" in path.read_text()


def test_a_stem_may_have_dots(tmp_path):
    assert beside(tmp_path / "v1.2", ".node") == tmp_path / "v1.2.node"


def test_all_other_text_is_fine():
    check_text(["<script>alert(1)</script>", "=cmd()", "ü 脑 🧠", "", 1.0, None])


def test_names_are_safe_and_differ_whatever_the_case():
    groups = ["a/b", "a b", "A_B", "ab", "../x", "=", "con trol"]
    names = file_names(groups)
    assert list(names) == groups
    # names after BIDS have letters and digits only
    letters = {name.lower().replace("_", "").replace("-", "") for name in names.values()}
    assert len(letters) == len(groups)
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyzABX0123456789_-") for name in names.values()
    )


def test_a_plain_name_stays_and_windows_takes_every_name():
    assert file_names(["control", "console"]) == {"control": "control", "console": "console"}
    groups = ["CON", "nul", "com1", "LPT9 ", "aux.", "prn.csv", "T1.5. ", "con", "group con"]
    names = file_names(groups).values()
    assert not any(isreserved(f"{name}{ending}") for name in names for ending in ("", ".csv"))
    assert len({re.sub("[^a-z0-9]", "", name.lower()) for name in names}) == len(groups)


def isreserved(name):
    """As Windows knows its devices: by the name before the first dot, in any case."""
    return bool(re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d) *", name.split(".")[0]))
