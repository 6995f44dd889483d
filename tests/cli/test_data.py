import argparse
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgbn.cli import data
from sgbn.cli.data import add_table_options, read_cohort
from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import InputError


@pytest.fixture
def table():
    cohort = simulate_cohort(30)
    frame = pd.DataFrame(cohort.values[:, :12], columns=cohort.regions[:12])
    frame.insert(0, "site", ["A", "A", "B", "B"] * 15)
    frame.insert(0, "age", np.linspace(20, 60, 60))
    frame.insert(0, "group", cohort.group)
    frame.insert(0, "subject_id", [f"sub-{k:02}" for k in range(60)])
    return frame


@pytest.fixture
def check(tmp_path, capsys):
    """Function (table, options) -> exit code, what was printed, what was complained."""

    def run(frame, *options):
        path = tmp_path / "table.csv"
        frame.to_csv(path, index=False)
        code = main(["check", str(path), *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


OPTIONS = ("--group", "group", "--covariates", "age", "--site", "site")


def test_it_says_what_there_is_and_that_it_can_be_compared(check, table):
    code, out, err = check(table, *OPTIONS)
    assert (code, err) == (0, "")
    assert "60 subjects, 12 regions" in out
    assert "groups: control 30, patient 30" in out
    assert "sites: control A 16, B 14; patient A 14, B 16" in out
    assert "'age' nearly defines the groups" in out
    assert "1 warning above: read it first. `sgbn compare`" in out


def test_what_stands_in_the_way_is_said_and_the_exit_code_is_one(check, table):
    table["dx"] = (table["group"] == "patient").astype(int)
    code, out, err = check(table, *OPTIONS, "--covariates", "age", "dx")
    assert code == 1
    assert "stop: the covariate 'dx' is the group under another name" in out
    assert "cannot be compared" in err


def test_a_design_that_cannot_be_tested_is_said(check, table):
    sessions = table.assign(person=[f"p{k}" for k in (*range(30), *np.repeat(range(30, 45), 2))])
    code, out, _ = check(sessions, *OPTIONS[:4], "--exclude", "site", "--subject", "person")
    assert code == 0
    assert "warning: differences of edges would not be tested: no rows can be exchanged" in out
    _, out, _ = check(table.iloc[25:], *OPTIONS[:4], "--exclude", "site")
    assert "would not be tested: group 'control' has 5 subjects" in out
    _, out, _ = check(table, *OPTIONS)
    assert "would not be tested" not in out


def test_numbers_without_a_role_are_listed(check, table):
    code, _, err = check(table, "--group", "group")
    assert code == 1
    assert "'age'" in err
    assert "--covariates" in err


def test_reading_says_what_it_left_out(check, table):
    table["eTIV"] = 1.5e6
    table["comment"] = "none"
    _, out, _ = check(table, *OPTIONS)
    assert "columns left out, totals: 'eTIV'" in out
    assert "columns left out, ignored: 'comment'" in out


def test_subjects_far_out_and_curved_relations_are_said(check):
    cohort = simulate_cohort(100, regions=10)
    spread = cohort.values.std(axis=0)
    frame = pd.DataFrame(np.exp(cohort.values / spread), columns=cohort.regions)
    frame.insert(0, "group", cohort.group)
    _, out, _ = check(frame, "--group", "group")
    assert "--transform normal-scores" in out
    frame[list(cohort.regions)] = cohort.values
    frame.loc[7, list(cohort.regions)] += 15 * spread * np.resize([1, -1], 10)
    _, out, _ = check(frame, "--group", "group")
    assert "warning: 1 of 100 subjects of the group 'control' is far from the others" in out
    assert "--outliers keep" in out
    assert "--transform" not in out


FUZZED = settings(
    max_examples=settings.default.max_examples // 4,  # tests/fuzz searches for longer
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
cells = st.one_of(
    st.text(max_size=6),
    st.floats().map(str),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(["", "NA", "AD", "CTR", "1,5", "inf", '"', "'", ";", "\t", "\n", "0012"]),
)
names = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["group", "subject_id", "age", "lh_insula", "rh_insula", "Insula_L", "eTIV"]),
)


@FUZZED
@given(
    header=st.lists(names, min_size=1, max_size=6),
    rows=st.lists(st.lists(cells, min_size=1, max_size=6), max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    options=st.sampled_from([(), ("--group", "group"), ("--group", "group", "--regions", "all")]),
)
def test_no_table_makes_a_traceback(tmp_path, header, rows, delimiter, options):
    path = tmp_path / "fuzz.csv"
    lines = [delimiter.join(line) for line in (header, *rows)]
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    assert main(["check", str(path), *options]) in (0, 1)


@FUZZED
@given(content=st.binary(max_size=200), suffix=st.sampled_from([".csv", ".xlsx", ".parquet"]))
def test_no_bytes_make_a_traceback(tmp_path, content, suffix):
    path = tmp_path / f"fuzz{suffix}"
    path.write_bytes(content)
    assert main(["check", str(path), "--group", "group"]) in (0, 1)


@FUZZED
@given(
    values=st.lists(
        st.lists(st.one_of(st.none(), st.floats(width=64)), min_size=4, max_size=4),
        min_size=1,
        max_size=12,
    ),
    labels=st.data(),
    command=st.sampled_from(["check", "compare"]),
)
def test_no_numbers_make_a_traceback(tmp_path, values, labels, command):
    frame = pd.DataFrame(values, columns=["lh_insula", "rh_insula", "lh_cuneus", "rh_cuneus"])
    frame = frame.astype(float)
    for column, cells in {"group": "12x", "site": "12x", "age": ("1", "2.5", "70", "")}.items():
        frame[column] = labels.draw(
            st.lists(st.sampled_from(cells), min_size=len(frame), max_size=len(frame))
        )
    path = tmp_path / "fuzz.csv"
    frame.to_csv(path, index=False)
    options = ["--out", str(tmp_path / "out")] if command == "compare" else []
    assert main([command, str(path), *OPTIONS, *options]) in (0, 1)


def test_a_covariate_that_a_group_lacks_is_said(check, table):
    table["updrs"] = np.where(table["group"] == "control", np.nan, np.arange(60.0))
    code, out, _ = check(table, "--group", "group", "--covariates", "updrs", "--exclude", "age")
    assert code == 1
    assert "stop: the covariate 'updrs' is missing in all subjects of a group" in out


def test_persons_and_families_are_said(check, table):
    table["who"] = [f"{one}{k // 2}" for k, one in enumerate(table["group"])]
    table["family"] = [f"f{k // 4}" for k in range(60)]
    code, out, _ = check(table, *OPTIONS, "--subject", "who", "--block", "family")
    assert code == 0
    assert "60 rows of 30 persons" in out
    assert "blocks: 15, the largest with 4 rows" in out
    table["who"] = [f"p{k % 30:02}" for k in range(60)]
    code, _, err = check(table, *OPTIONS, "--subject", "who", "--exclude", "family")
    assert code == 1
    assert "has rows in the groups" in err
    assert "--pair" in err


def test_pairs_and_lobes_are_said(check, table):
    table["person"] = [f"p{k % 30:02}" for k in range(60)]  # 30 controls, then 30 patients
    table.loc[0, "person"] = "alone"
    code, out, _ = check(table, *OPTIONS, "--pair", "person", "--lobes", "frontal")
    assert code == 0
    assert "pairs: 31 persons, 2 of them without exactly one row" in out
    assert "'alone', 'p00'. Their rows (2) are left out: 29 persons remain." in out
    assert "60 subjects, 8 regions" in out
    assert re.search(r"columns left out, other lobes: ('[^']+', ){3}'[^']+'\n", out)


def test_the_reference_is_said_and_can_be_named(check, table):
    _, out, _ = check(table, *OPTIONS)
    assert "reference: control (its name looks like controls; --reference GROUP names" in out
    _, out, _ = check(table, *OPTIONS, "--reference", "patient")
    assert "reference: patient (as you named it)" in out
    code, _, err = check(table, *OPTIONS, "--reference", "patients")
    assert (code, "Did you mean 'patient'?" in err) == (1, True)
    table["group"] = table["group"].map({"control": "old", "patient": "young"})
    _, out, _ = check(table, *OPTIONS)
    assert "reference: old (the first by name: no name looks like controls" in out


def test_the_last_line_counts_warnings_of_reading(check, table):
    table["age"] = np.resize([30.5, 41.0, 52.5, 63.0, 38.0], 60)
    table["protein"] = ["<LLOD", "1.5", "2.5"] * 20
    code, out, err = check(table, *OPTIONS, "--regions", "all")
    assert code == 0
    assert "row 2 (subject 'sub-00'), column 'protein': the column holds '<LLOD'" in err
    assert out.splitlines()[-1].startswith("1 warning above: read it first")


def test_the_last_line_agrees_with_the_findings(check, table):
    table["age"] = np.resize([30.5, 41.0, 52.5, 63.0, 38.0], 60)
    _, out, _ = check(table, *OPTIONS)
    assert "warning" not in out
    assert "No problem was found" in out.splitlines()[-1]
    _, out, _ = check(table.iloc[26:], *OPTIONS)  # four controls
    assert "the group 'control' has only 4 subjects" in out
    last = out.splitlines()[-1]
    assert last.startswith(f"{out.count('warning: ')} warnings above: read them first")
    assert "would not test which edges differ" in last
    copied = pd.concat([table, table.iloc[:20].assign(subject_id=[f"x{k}" for k in range(20)])])
    code, out, err = check(copied, *OPTIONS)
    assert (code, "Nothing stands" in out) == (1, False)
    assert "20 pairs of rows are copies" in out
    assert "see the 1 finding that begins with 'stop' above" in err


def test_a_site_that_is_not_named_is_asked_about(check, table):
    table["age"] = np.resize([30.5, 41.0, 52.5, 63.0, 38.0], 60)
    _, out, _ = check(table, *OPTIONS[:4])
    assert "warning: the column 'site' looks like sites or scanners (2 labels)" in out
    assert "--site site" in out
    assert "1 warning above: read it first." in out.splitlines()[-1]
    _, out, _ = check(table, *OPTIONS[:4], "--exclude", "site")
    assert "looks like sites" not in out


@pytest.fixture
def series(tmp_path):
    """Folder of 44 subjects with series, and participants whose groups differ in motion."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "series"
    folder.mkdir()
    ids = [f"sub-{k:02}" for k in range(44)]
    for name in ids:
        signals = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
        signals.to_csv(folder / f"{name}_timeseries.tsv", sep="\t", index=False)
    people = pd.DataFrame({"participant_id": ids, "dx": ["CTR", "MDD"] * 22})
    people["mean_fd"] = rng.uniform(0.1, 0.2, 44) + 0.1 * (people["dx"] == "MDD")
    people.to_csv(folder / "participants.tsv", sep="\t", index=False)
    return folder


def test_time_series_have_a_sheet(series, tmp_path, capsys):
    out = tmp_path / "quality"
    code = main(["check", str(series), "--group", "dx", "--tr", "2", "--out", str(out)])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    assert "44 subjects, 4 regions" in printed.out
    assert "time series of 60 volumes, one every 2 s" in printed.out
    assert "volumes: 60 (60 to 60)" in printed.out
    assert "participants.tsv, found by sgbn (--participants names another)" in printed.out
    assert "variance above 0.1 Hz: 6" in printed.out
    assert "the groups differ in motion ('mean_fd'" in printed.out
    assert "--covariates mean_fd" in printed.out
    sheet = pd.read_csv(out / "series_quality.csv")
    assert sheet["volumes"].tolist() == [60] * 44


def test_a_design_of_series_that_cannot_be_tested_is_said(series, capsys):
    people = pd.read_csv(series / "participants.tsv", sep="\t")
    few = people.assign(dx=["CTR"] * 40 + ["MDD"] * 4)
    few.to_csv(series / "participants.tsv", sep="\t", index=False)
    assert main(["check", str(series), "--group", "dx", "--covariates", "mean_fd"]) == 0
    out = capsys.readouterr().out
    assert "differences of edges would not be tested" in out
    assert "would not test which edges differ" in out


def test_motion_as_a_covariate_is_shown(series, capsys):
    options = ("--group", "dx", "--covariates", "mean_fd")
    assert main(["check", str(series), *options]) == 0
    out = capsys.readouterr().out
    assert re.search(r"mean framewise displacement: 0\.\d+ \(0\.1", out)
    assert "variance below 4 % of the highest frequency: " in out
    assert "differ in motion" not in out


def test_a_long_table_is_read_as_series(check, series):
    parts = []
    for path in sorted(series.glob("*_timeseries.tsv")):
        part = pd.read_csv(path, sep="\t")
        part.insert(0, "volume", range(60))
        part.insert(0, "subject", path.name.split("_")[0])
        parts.append(part)
    long = pd.concat(parts)
    options = ("--participants", str(series / "participants.tsv"), "--group", "dx")
    code, out, err = check(long, *options)
    assert (code, err) == (0, "")
    assert "44 subjects, 4 regions\ntime series of 60 volumes" in out
    code, _, err = check(long.drop(columns="volume"), *options)
    assert code == 1
    assert "2640 rows of 44 subjects look like volumes of time series" in err


def test_options_of_series_are_refused_for_tables(check, table, tmp_path):
    code, _, err = check(table, *OPTIONS, "--tr", "2")
    assert code == 1
    assert "tr= (--tr) is for time series" in err
    code, _, err = check(table, *OPTIONS, "--out", str(tmp_path / "q"))
    assert code == 2
    assert re.search("--out .*series_quality.csv.* time series", err)


def test_options_of_tables_are_refused_for_series(series, capsys):
    assert main(["check", str(series), "--group", "dx", "--measure", "volume"]) == 1
    assert "measure= (--measure) is for tables" in capsys.readouterr().err


def run(folder, *words):
    parser = argparse.ArgumentParser()
    data.add_simulate(parser.add_subparsers())
    arguments = parser.parse_args(["simulate", "--out", str(folder), *words])
    arguments.run(arguments)


def simulate_names(folder):
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
    assert simulate_names(tmp_path) == [
        *("about.json", "cohort.csv", "truth_covariates.csv", "truth_edges.csv", "truth_sites.csv")
    ]
    run(tmp_path, "--subjects", "10")
    assert simulate_names(tmp_path) == ["about.json", "cohort.csv", "truth_edges.csv"]


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


@pytest.fixture
def read(tmp_path):
    """Function (table, options) -> cohort, by way of the command line."""

    def run(table, *options):
        path = tmp_path / "table.csv"
        table.to_csv(path, index=False)
        parser = argparse.ArgumentParser()
        add_table_options(parser)
        return read_cohort(parser.parse_args([str(path), *options]))

    return run


@pytest.fixture
def tables_table():
    cohort = simulate_cohort(5)
    frame = pd.DataFrame(cohort.values[:, :6], columns=cohort.regions[:6])
    frame.insert(0, "age", np.arange(10) + 20)
    frame.insert(0, "dx", ["AD", "CTR"] * 5)
    frame.insert(0, "code", [f"{k:03}" for k in range(10)])
    return frame


def test_every_option_reaches_the_reader(read, tables_table):
    cohort = read(
        tables_table,
        *("--group", "dx", "--id", "code", "--covariates", "age", "--groups", "AD"),
        *("--exclude", "Frontal_Mid_*", "--atlas", "AAL"),
    )
    assert cohort.ids == ("000", "002", "004", "006", "008")
    assert cohort.groups == ("AD",)
    assert cohort.covariates["age"].tolist() == [20, 22, 24, 26, 28]
    assert not any(name.startswith("Frontal_Mid") for name in cohort.regions)
    assert cohort.atlas.name == "aal"


def test_an_atlas_may_be_a_table_of_ones_own(read, tables_table, tmp_path):
    own = tmp_path / "mine.csv"
    names = [name for name in tables_table.columns if name not in ("code", "dx", "age")]
    own.write_text("region,lobe\n" + "".join(f"{name},mine\n" for name in names))
    cohort = read(tables_table, "--id", "code", "--exclude", "age", "--atlas", str(own))
    assert cohort.lobes == ("mine",) * 6
    assert cohort.provenance["atlas_file"] == str(own)
    with pytest.raises(InputError, match=r"gone\.csv.*desikan_killiany"):
        read(tables_table, "--id", "code", "--atlas", str(tmp_path / "gone.csv"))


def test_regions_are_names_patterns_or_all(read, tables_table):
    with pytest.raises(InputError, match=r"'age' \(by its name\).*--covariates age"):
        read(tables_table, "--id", "code", "--regions", "all")
    everything = read(tables_table, "--id", "code", "--regions", "all", "--covariates", "age")
    assert list(everything.regions) == tables_table.columns[3:].tolist()
    some = tables_table.columns[4:6].tolist()
    named = read(tables_table, "--id", "code", "--covariates", "age", "--regions", *some)
    assert list(named.regions) == some


def test_a_number_that_is_neither_region_nor_named_stops(read, tables_table):
    with pytest.raises(InputError, match=r"'age'(.|\n)*--exclude"):
        read(tables_table, "--id", "code")


def test_several_tables_are_joined_as_freesurfer_writes_them(tmp_path):
    parser = argparse.ArgumentParser()
    add_table_options(parser)
    paths = []
    for hemisphere in ("lh", "rh"):
        frame = pd.DataFrame(
            {
                f"{hemisphere}.aparc.thickness": ["sub-1", "sub-2"],
                f"{hemisphere}_insula_thickness": [2.5, 2.6],
                f"{hemisphere}_cuneus_thickness": [1.5, 1.6],
                f"{hemisphere}_MeanThickness_thickness": [2.2, 2.1],
            }
        )
        paths.append(tmp_path / f"{hemisphere}.txt")
        frame.to_csv(paths[-1], sep="\t", index=False)
    cohort = read_cohort(parser.parse_args(list(map(str, paths))))
    assert len(cohort.regions) == 4
    assert cohort.ids == ("sub-1", "sub-2")


def test_a_list_given_in_parts_is_one_list(read, tables_table):
    tables_table = tables_table.assign(iq=100.5, site=["a", "b"] * 5)
    some = tables_table.columns[3:6].tolist()
    cohort = read(
        tables_table,
        *("--id", "code", "--covariates", "age", "--covariates", "iq", "age"),
        *("--exclude", some[0], "--exclude", some[1], "--groups", "AD", "--groups", "CTR"),
        *("--group", "dx", "--missing", "-999", "--missing", "?"),
    )
    assert list(cohort.covariates) == ["age", "iq"]
    assert not {*some[:2]} & {*cohort.regions}
    assert cohort.groups == ("AD", "CTR")
    named = ("--id", "code", "--covariates", "age", "iq")
    parts = read(tables_table, *named, "--regions", some[0], "--regions", some[1])
    assert list(parts.regions) == some[:2]


def test_several_markers_and_none(read, tables_table):
    tables_table = tables_table.astype({tables_table.columns[4]: object})
    tables_table.iloc[2, 4], tables_table.iloc[3, 4] = "?", -999
    named = ("--id", "code", "--covariates", "age")
    cohort = read(tables_table, *named, "--missing", "-999", "--missing", "?")
    assert np.isnan(cohort.values).sum() == 2
    with pytest.raises(InputError, match=r"--missing -999"):
        read(tables_table, *named, "--missing", "?")
    tables_table.iloc[2, 4] = 1.5
    assert (read(tables_table, *named, "--missing").values == -999).sum() == 1


def test_several_measures_in_order_of_preference(read):
    table = pd.DataFrame(
        {
            "id": ["a", "b"],
            "lh_insula_area": [1.0, 2],
            "lh_insula_thickness": [3.0, 4],
            "rh_insula_thickness": [5.0, 6],
        }
    )
    cohort = read(table, "--measure", "area", "thickness")
    assert cohort.regions == ("lh_insula_area", "rh_insula_thickness")


def test_a_sheet_is_of_one_excel_table(read, tables_table):
    with pytest.raises(InputError, match="--sheet is for one Excel table"):
        read(tables_table, "--freesurfer", "--sheet", "data")
    with pytest.raises(InputError, match=r"has no sheets\. .*--sheet"):
        read(tables_table, "--sheet", "data")


def test_pairs_by_the_column_of_ids_or_by_another(read, tables_table):
    visits = tables_table.assign(code=[f"{k // 2:03}" for k in range(10)], person=range(10))
    named = ("--group", "dx", "--covariates", "age", "--exclude", "person")
    cohort = read(visits, *named, "--id", "code", "--pair", "code")
    assert cohort.ids[:2] == ("000 (AD)", "000 (CTR)")
    assert cohort.pair[:3].tolist() == ["000", "000", "001"]
    visits["person"] = [k // 2 for k in range(10)]
    cohort = read(visits, *named[:4], "--id", "code", "--pair", "person")
    assert cohort.pair[:3].tolist() == ["0", "0", "1"]
    assert "person" not in cohort.regions
    with pytest.raises(InputError, match="--pair"):
        read(visits, *named, "--id", "code")


def test_persons_and_families_have_columns(read, tables_table):
    labels = [f"{dx}{k // 4}" for k, dx in enumerate(tables_table["dx"])]
    several = tables_table.assign(who=labels, family=["f", "g"] * 5)
    named = ("--id", "code", "--group", "dx", "--covariates", "age")
    cohort = read(several, *named, "--subject", "who", "--block", "family")
    assert cohort.person.tolist() == labels
    assert cohort.block.tolist() == ["f", "g"] * 5


def test_lobes_choose_regions_and_the_others_are_kept_in_mind(read, tables_table):
    tables_table["Lingual_L"], tables_table["Cuneus_R"] = range(10), range(5, 15)
    named = ("--id", "code", "--covariates", "age")
    cohort = read(tables_table, *named, "--lobes", "occipital", "--lobes", "occipital")
    assert cohort.regions == ("Lingual_L", "Cuneus_R")
    everything = read(tables_table, *named)
    assert cohort.provenance["lobes"] == ["occipital"]
    assert cohort.provenance["other_lobes"] == list(everything.regions[:-2])
    assert "lobes" not in everything.provenance
    with pytest.raises(InputError, match=r"'limbic'.*occipital 2"):
        read(tables_table, *named, "--lobes", "limbic")
    unknown = tables_table[["code", "age"]].assign(a=range(10), b=range(10))
    with pytest.raises(InputError, match="no atlas"):
        read(unknown, *named, "--regions", "a", "b", "--lobes", "frontal")
