import argparse
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.codes import refused

from sgbn.cli import data
from sgbn.cli.data import add_table_options, read_cohort
from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort


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
def check(tmp_path, typed):
    """Function (table, options) -> what `sgbn check` says."""

    def run(frame, *options):
        frame.to_csv(tmp_path / "table.csv", index=False)
        return typed(f"check {tmp_path}/table.csv", *options)

    return run


OPTIONS = ("--group", "group", "--covariates", "age", "--site", "site")


def test_it_says_what_there_is_and_that_it_can_be_compared(check, table):
    told = check(table, *OPTIONS)
    assert (told.code, told.err) == (0, "")
    assert "60 subjects, 12 regions" in told.out
    assert "groups: control 30, patient 30" in told.out
    assert "sites: control A 16, B 14; patient A 14, B 16" in told.out
    assert "covariate.defines" in told.codes
    assert told.out.splitlines()[-1].startswith("1 warning above")


def test_a_design_that_cannot_be_tested_is_said(check, table):
    sessions = table.assign(person=[f"p{k}" for k in (*range(30), *np.repeat(range(30, 45), 2))])
    told = check(sessions, *OPTIONS[:4], "--exclude", "site", "--subject", "person")
    assert (told.code, "exchange.none" in told.codes) == (0, True)
    assert "Leave out --site or --block" in told.out
    assert "groups.small" in check(table.iloc[25:], *OPTIONS[:4], "--exclude", "site").codes
    assert "would not be tested" not in check(table, *OPTIONS).out


def test_what_was_left_out_is_said(check, table):
    out = check(table.assign(eTIV=1.5e6, comment="none"), *OPTIONS).out
    assert "columns left out, totals: 'eTIV'" in out
    assert "columns left out, ignored: 'comment'" in out


def test_subjects_far_out_and_curved_relations_are_said(check):
    cohort = simulate_cohort(100, regions=10)
    spread = cohort.values.std(axis=0)
    frame = pd.DataFrame(np.exp(cohort.values / spread), columns=cohort.regions)
    frame.insert(0, "group", cohort.group)
    assert "--transform normal-scores" in check(frame, "--group", "group").out
    frame[list(cohort.regions)] = cohort.values
    frame.loc[7, list(cohort.regions)] += 15 * spread * np.resize([1, -1], 10)
    told = check(frame, "--group", "group")
    assert "rows.far" in told.codes
    assert "--outliers keep" in told.out
    assert "--transform" not in told.out


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


def test_what_stands_in_the_way_is_said_and_the_exit_code_is_one(check, table):
    table["dx"] = (table["group"] == "patient").astype(int)
    table["updrs"] = np.where(table["group"] == "control", np.nan, np.arange(60.0))
    table["who"] = [f"p{k % 30:02}" for k in range(60)]
    rest = ["--exclude", "dx", "updrs", "who"]
    for options, problem in {
        ("--covariates", "age", "dx", "--exclude", "updrs", "who"): "covariate.is-group",
        ("--covariates", "age", "updrs", "--exclude", "dx", "who"): "covariate.empty",
        ("--covariates", "age", "--subject", "who", "--exclude", "dx", "updrs"): "persons.groups",
        ("--covariates", "age", *rest, "--reference", "patients"): "groups.unknown",
        tuple(rest): "columns.numbers",
    }.items():
        told = check(table, "--group", "group", "--site", "site", *options)
        assert told.code == 1
        assert problem in told.codes


def test_persons_families_pairs_and_lobes_are_said(check, table):
    table["who"] = [f"{one}{k // 2}" for k, one in enumerate(table["group"])]
    table["family"] = [f"f{k // 4}" for k in range(60)]
    told = check(table, *OPTIONS, "--subject", "who", "--block", "family")
    assert told.code == 0
    assert "60 rows of 30 persons" in told.out
    assert "blocks: 15, the largest with 4 rows" in told.out
    table["person"] = [f"p{k % 30:02}" for k in range(60)]  # 30 controls, then 30 patients
    table.loc[0, "person"] = "alone"
    told = check(table.drop(columns="who"), *OPTIONS, "--pair", "person", "--lobes", "frontal")
    assert (told.code, "pairs.incomplete" in told.codes) == (0, True)
    assert "60 subjects, 8 regions" in told.out
    assert re.search(r"columns left out, other lobes: ('[^']+', ){3}'[^']+'\n", told.out)


def test_the_reference_is_said_and_can_be_named(check, table):
    assert "reference: control (its name looks like controls; --ref" in check(table, *OPTIONS).out
    out = check(table, *OPTIONS, "--reference", "patient").out
    assert "reference: patient (as you named it)" in out
    table["group"] = table["group"].map({"control": "old", "patient": "young"})
    assert "reference: old (the first by name" in check(table, *OPTIONS).out


def test_the_last_line_agrees_with_the_findings_and_counts_warnings_of_reading(check, table):
    table["age"] = np.resize([30.5, 41.0, 52.5, 63.0, 38.0], 60)
    out = check(table, *OPTIONS).out
    assert "warning" not in out
    assert "No problem" in out.splitlines()[-1]
    out = check(table.iloc[26:], *OPTIONS).out  # four controls
    last = out.splitlines()[-1]
    assert last.startswith(f"{out.count('warning: ')} warnings above")
    assert "would not test which edges differ" in last
    told = check(table.assign(protein=["<LLOD", "1.5", "2.5"] * 20), *OPTIONS, "--regions", "all")
    assert (told.code, "columns.few-numbers" in told.codes) == (0, True)
    assert told.out.splitlines()[-1].startswith("1 warning above")
    copied = pd.concat([table, table.iloc[:20].assign(subject_id=[f"x{k}" for k in range(20)])])
    told = check(copied, *OPTIONS)
    assert (told.code, "review.stop" in told.codes, "above" in told.out) == (1, True, False)
    told = check(table, *OPTIONS[:4])
    assert "sites.unnamed" in told.codes
    assert told.out.splitlines()[-1].startswith("1 warning above")
    assert "'site' looks" not in check(table, *OPTIONS[:4], "--exclude", "site").out


def test_names_of_subjects_are_shown_if_asked_for(check, table):
    cells = table.columns[4:]
    table.loc[5, cells] *= 1000
    hidden = check(table, *OPTIONS)
    assert "sub-0" not in hidden.out + hidden.err
    assert hidden.err.endswith("Add --names to see the names.\n")
    named = check(table, *OPTIONS, "--names")
    assert "subject 'sub-05'" in named.out
    assert "--names" not in named.err
    table[cells[0]] = table[cells[0]].astype(object)
    table.loc[7, cells[0]] = "n.b."
    assert "sub-0" not in check(table, *OPTIONS).err
    assert "subject 'sub-07'" in check(table, *OPTIONS, "--names").err


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


def test_time_series_have_a_sheet(series, tmp_path, typed):
    told = typed(f"check {series} --group dx --tr 2 --out {tmp_path}/quality")
    assert (told.code, told.err) == (0, "")
    assert "44 subjects, 4 regions\ntime series of 60 volumes, one every 2 s" in told.out
    assert "volumes: 60 (60 to 60)" in told.out
    assert "participants.tsv, found by sgbn (--participants names another)" in told.out
    assert "variance above 0.1 Hz: 6" in told.out
    assert "motion.groups" in told.codes
    sheet = pd.read_csv(tmp_path / "quality" / "series_quality.csv")
    assert sheet["volumes"].tolist() == [60] * 44


def test_a_design_of_series_that_cannot_be_tested_is_said(series, typed):
    people = pd.read_csv(series / "participants.tsv", sep="\t")
    few = people.assign(dx=["CTR"] * 40 + ["MDD"] * 4)
    few.to_csv(series / "participants.tsv", sep="\t", index=False)
    told = typed(f"check {series} --group dx --covariates mean_fd")
    assert (told.code, "groups.small" in told.codes) == (0, True)
    assert "would not test which edges differ" in told.out


def test_motion_as_a_covariate_is_shown(series, typed):
    told = typed(f"check {series} --group dx --covariates mean_fd")
    assert (told.code, "motion.groups" in told.codes) == (0, False)
    assert re.search(r"mean framewise displacement: 0\.\d+ \(0\.1", told.out)
    assert "variance below 4 % of the highest frequency: " in told.out


def test_a_long_table_is_read_as_series(check, series):
    parts = []
    for path in sorted(series.glob("*_timeseries.tsv")):
        part = pd.read_csv(path, sep="\t")
        part.insert(0, "volume", range(60))
        part.insert(0, "subject", path.name.split("_")[0])
        parts.append(part)
    long = pd.concat(parts)
    options = ("--participants", series / "participants.tsv", "--group", "dx")
    told = check(long, *options)
    assert (told.code, told.err) == (0, "")
    assert "44 subjects, 4 regions\ntime series of 60 volumes" in told.out
    told = check(long.drop(columns="volume"), *options)
    assert (told.code, "ids.volumes" in told.codes) == (1, True)


def test_options_of_series_and_of_tables_are_refused_for_the_other(check, table, series, typed):
    told = check(table, *OPTIONS, "--tr", "2")
    assert (told.code, "--tr is for time series" in told.err) == (1, True)
    told = check(table, *OPTIONS, "--out", series / "q")
    assert (told.code, "out.not-series" in told.codes) == (2, True)
    told = typed(f"check {series} --group dx --measure volume")
    assert (told.code, "--measure is for tables" in told.err) == (1, True)


@pytest.mark.parametrize("command", ["check", "compare --out x"])
@pytest.mark.parametrize(
    ("options", "problem"), [("", "table.none"), (" --exclude IQ table.csv", "table.taken")]
)
def test_without_a_table_it_says_what_to_give(command, options, problem, typed):
    told = typed(f"{command} --group dx{options}")
    assert (told.code, problem in told.codes) == (2, True)


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
    assert f"{words}\n" in capsys.readouterr().out
    assert main(shlex.split(words)[1:]) == 0
    assert "8 regions (my atlas)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        ("--sizes 5", 1, "simulate.sizes"),
        ("--atlas brodmann", 1, "atlas.unknown"),
        ("--regions 900", 1, "simulate.count"),
        ("--missing 2", 1, "--missing"),
        ("--confounding 0.3", 1, "--sites"),
        ("--regions some", 2, "--regions"),
        ("--regions 1", 2, "--regions"),
        ("--subjects 0", 2, "--subjects"),
        ("--subjects 9 --sizes 5 5", 2, "--subjects"),
        ("--differ much", 2, "--differ"),
        ("--covariates IQ", 2, "--covariates"),
    ],
)
def test_bad_values_are_named_and_nothing_is_written(tmp_path, options, code, problem, typed):
    told = typed(f"simulate --out {tmp_path}/out {options}")
    assert (told.code, problem in told.err or problem in told.codes) == (code, True)
    assert not (tmp_path / "out").exists()


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
    with refused("atlas.unknown"):
        read(tables_table, "--id", "code", "--atlas", str(tmp_path / "gone.csv"))


def test_regions_are_names_patterns_or_all(read, tables_table):
    with refused("regions.odd"):
        read(tables_table, "--id", "code", "--regions", "all")
    everything = read(tables_table, "--id", "code", "--regions", "all", "--covariates", "age")
    assert list(everything.regions) == tables_table.columns[3:].tolist()
    some = tables_table.columns[4:6].tolist()
    named = read(tables_table, "--id", "code", "--covariates", "age", "--regions", *some)
    assert list(named.regions) == some


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
    with refused("cells.sentinel"):
        read(tables_table, *named, "--missing", "?")
    tables_table.iloc[2, 4] = 1.5
    assert (read(tables_table, *named, "--missing").values == -999).sum() == 1


def test_a_sheet_is_of_one_excel_table(read, tables_table):
    with refused("sheet.freesurfer"):
        read(tables_table, "--freesurfer", "--sheet", "data")
    with refused("sheets.none"):
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
    with refused("ids.repeat"):
        read(visits, *named, "--id", "code")


def test_lobes_choose_regions_and_the_others_are_kept_in_mind(read, tables_table):
    tables_table["Lingual_L"], tables_table["Cuneus_R"] = range(10), range(5, 15)
    named = ("--id", "code", "--covariates", "age")
    cohort = read(tables_table, *named, "--lobes", "occipital", "--lobes", "occipital")
    assert cohort.regions == ("Lingual_L", "Cuneus_R")
    everything = read(tables_table, *named)
    assert cohort.provenance["lobes"] == ["occipital"]
    assert cohort.provenance["other_lobes"] == list(everything.regions[:-2])
    assert "lobes" not in everything.provenance
    with refused("lobes.unknown"):
        read(tables_table, *named, "--lobes", "limbic")
    unknown = tables_table[["code", "age"]].assign(a=range(10), b=range(10))
    with refused("lobes.atlas"):
        read(unknown, *named, "--regions", "a", "b", "--lobes", "frontal")
