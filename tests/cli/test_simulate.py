import argparse
import json
import shlex

import numpy as np
import pandas as pd
import pytest

from sgbn.cli import data
from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError


def run(folder, *words):
    parser = argparse.ArgumentParser()
    data.add_simulate(parser.add_subparsers())
    arguments = parser.parse_args(["simulate", "--out", str(folder), *words])
    arguments.run(arguments)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_everything_is_written_as_it_was_drawn(tmp_path, capsys):
    run(
        tmp_path / "study",
        *("--sizes", "30", "20", "--sites", "3", "--covariates", "--missing", "0.02"),
        *("--confounding", "0.5", "--seed", "7"),
    )
    cohort = simulate_cohort(
        (30, 20),
        7,
        n_sites=3,
        covariates=("age", "sex", "eTIV"),
        missing=0.02,
        confounding=0.5,
    )
    table = pd.read_csv(tmp_path / "study" / "cohort.csv").set_index("subject_id")
    assert tuple(table.index) == cohort.ids
    np.testing.assert_allclose(table[list(cohort.regions)], cohort.values, rtol=1e-12)
    assert table["group"].tolist() == cohort.group.tolist()
    assert table["site"].tolist() == cohort.site.tolist()
    for name, column in cohort.covariates.items():
        assert table[name].tolist() == column.tolist()
    sites = pd.read_csv(tmp_path / "study" / "truth_sites.csv")
    assert sites.columns.tolist() == ["site", "region", "shift", "scale"]
    second = sites[sites["site"] == "site2"].set_index("region")
    np.testing.assert_allclose(second["scale"], cohort.site_scale["site2"])
    slopes = pd.read_csv(tmp_path / "study" / "truth_covariates.csv")
    np.testing.assert_allclose(slopes["eTIV"], cohort.covariate_effects["eTIV"])
    about = json.loads((tmp_path / "study" / "about.json").read_text())
    assert about["settings"]["random_state"] == 7
    assert "sgbn" in about["versions"]
    assert "50 subjects, 40 regions" in capsys.readouterr().out


def test_the_true_edges_say_which_are_changed_and_list_those_lost(tmp_path):
    run(tmp_path, "--subjects", "10")
    edges = pd.read_csv(tmp_path / "truth_edges.csv")
    assert edges.columns.tolist() == [
        *("group", "source", "target", "weight", "weight_std", "changed")
    ]
    cohort = simulate_cohort(10)
    for group, network in cohort.networks.items():
        own = edges[edges["group"] == group]
        assert (own["weight"] != 0).sum() == network.n_edges
        marked = own[own["changed"]]
        pairs = set(zip(marked["source"], marked["target"], strict=True))
        assert pairs == set(cohort.changed.get(group, ()))
    lost = edges[(edges["group"] == "patient") & (edges["weight"] == 0)]
    assert len(lost) == 3
    assert lost["changed"].all()


def test_only_what_is_there_has_a_truth_and_an_earlier_one_is_taken_away(tmp_path):
    run(tmp_path, "--subjects", "10", "--sites", "2", "--covariates", "age")
    assert names(tmp_path) == [
        *("about.json", "cohort.csv", "truth_covariates.csv", "truth_edges.csv", "truth_sites.csv")
    ]
    run(tmp_path, "--subjects", "10")
    assert names(tmp_path) == ["about.json", "cohort.csv", "truth_edges.csv"]


def test_the_settings_of_about_make_the_same_cohort_again(tmp_path):
    run(
        tmp_path,
        *("--subjects", "6", "--atlas", "destrieux", "--regions", "all", "--differ", "edges"),
        *("--groups", "HC", "MCI", "AD", "--covariates", "age", "sex"),
    )
    again = simulate_cohort(**json.loads((tmp_path / "about.json").read_text())["settings"])
    table = pd.read_csv(tmp_path / "cohort.csv")
    np.testing.assert_allclose(table[list(again.regions)], again.values, rtol=1e-12)
    assert table["group"].unique().tolist() == ["HC", "MCI", "AD"]


def test_the_next_command_names_the_columns(tmp_path, capsys):
    run(tmp_path / "my study", "--subjects", "6", "--sites", "2", "--covariates", "sex")
    printed = capsys.readouterr().out
    table = tmp_path / "my study" / "cohort.csv"
    options = "--group group --id subject_id --covariates sex --site site"
    assert f"sgbn check '{table}' {options}\n" in printed
    assert f"sgbn compare '{table}' {options} --out '{table.parent / 'results'}'\n" in printed


def test_a_table_of_ones_own_is_simulated_and_named_in_the_next_command(tmp_path, capsys):
    own = tmp_path / "my atlas.csv"
    rows = [f"area {k} {side},{side},lobe {k % 2},1000\n" for k in range(4) for side in "LR"]
    own.write_text("region,hemisphere,lobe,volume_mm3\n" + "".join(rows))
    run(tmp_path / "study", "--subjects", "6", "--atlas", str(own), "--regions", "all")
    table = tmp_path / "study" / "cohort.csv"
    assert pd.read_csv(table).columns[-1] == "area 3 R"
    words = f"sgbn check {table} --group group --id subject_id --atlas '{own}'"
    printed = capsys.readouterr().out
    assert f"{words}\n" in printed
    assert main(shlex.split(words)[1:]) == 0
    assert "8 regions (my atlas)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sizes", "5"], "1 sizes for 2 groups"),
        (["--atlas", "brodmann"], "no atlas is called 'brodmann'"),
        (["--regions", "900"], "900 regions"),
        (["--missing", "2"], "missing is 2.0"),
        (["--confounding", "0.3"], "Ask for sites"),
    ],
)
def test_bad_values_are_named_and_nothing_is_written(tmp_path, words, message):
    with pytest.raises(InputError, match=message):
        run(tmp_path / "out", *words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--regions", "some"], "--regions: 'some' is not a whole number"),
        (["--regions", "1"], "--regions: 1 is too small"),
        (["--subjects", "0"], "--subjects: 0 is too small"),
        (["--subjects", "9", "--sizes", "5", "5"], "not allowed with"),
        (["--differ", "much"], "invalid choice: 'much'"),
        (["--covariates", "IQ"], "invalid choice: 'IQ'"),
    ],
)
def test_bad_words_stop_the_parser(tmp_path, words, message, capsys):
    with pytest.raises(SystemExit):
        run(tmp_path / "out", *words)
    assert message in capsys.readouterr().err
