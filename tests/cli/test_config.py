import tomllib
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbn.cli.main import parser
from sgbn.cli.options import config_text, with_config
from sgbn.core.exceptions import InputError

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda text: text.strip() == text
)


@cache
def compare_parser():
    return parser().parse_args(["compare", "--out", "x"]).parser


def write_config(path, options):
    path.write_text(config_text(path, options))


def expanded(*words):
    return with_config(compare_parser(), [*words, "--out", "x"])


def parsed(*words):
    return compare_parser().parse_args(expanded(*words))


def test_paths_are_relative_to_the_folder_of_the_config(tmp_path):
    config = tmp_path / "results" / "config.toml"
    config.parent.mkdir()
    table = tmp_path / "data" / "table.csv"
    write_config(config, {"tables": [table], "participants": table.with_name("people.tsv")})
    assert 'tables = [\n    "../data/table.csv",\n]' in config.read_text()
    moved = tmp_path.with_name(tmp_path.name + "-moved")
    tmp_path.rename(moved)
    found = parsed("--config", str(moved / "results/config.toml"))
    assert found.tables == [moved / "data" / "table.csv"]
    assert found.participants == moved / "data" / "people.tsv"


def test_an_atlas_that_is_a_table_is_a_path_and_one_that_has_a_name_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "results" / "config.toml"
    config.parent.mkdir()
    (tmp_path / "mine").touch()
    for name, kept in {"mine.csv": "../mine.csv", "mine": "../mine", "aal": "aal"}.items():
        write_config(config, {"atlas": name})
        assert f'atlas = "{kept}"' in config.read_text()
        monkeypatch.chdir(tmp_path.parent)
        found = parsed("--config", str(config)).atlas
        assert found == (name if name == "aal" else str(tmp_path / name))
        monkeypatch.chdir(tmp_path)


@given(
    st.fixed_dictionaries(
        {
            "group": TEXT,
            "covariates": st.lists(TEXT, min_size=1, max_size=3, unique=True),
            "gamma": st.floats(0, 5),
            "n_permutations": st.integers(0, 10_000),
            "peers": st.booleans(),
            "refinements": st.lists(st.sampled_from(["KL-SGBN", "MM-SGBN"]), unique=True),
            "freesurfer": st.booleans(),
            "edges": st.lists(TEXT, min_size=1, max_size=3, unique=True),
            "among": st.lists(TEXT, min_size=1, max_size=3, unique=True),
        }
    )
)
def test_what_is_written_is_read_again(tmp_path_factory, options):
    config = tmp_path_factory.mktemp("config") / "config.toml"
    write_config(config, options)
    found = parsed("--config", str(config))
    for name, value in options.items():
        assert getattr(found, name) == value


def test_the_command_line_replaces_lists_and_does_not_add_to_them(tmp_path):
    config = tmp_path / "config.toml"
    options = {"covariates": ["age", "sex"], "peers": True, "seed": 3, "reference": "CTR"}
    write_config(config, options)
    words = ["--config", str(config), "--covariates", "iq", "--no-peers", "--reference", "AD"]
    found = parsed(*words)
    assert (found.covariates, found.reference) == (["iq"], "AD")
    assert found.peers is False
    assert found.seed == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("permutation = 3", "has 'permutation', .*Did you mean 'permutations'"),
        ("out = 'x'", "has 'out'"),
        ("group = ", "not a TOML file"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_file(tmp_path, text, message):
    config = tmp_path / "config.toml"
    config.write_text(text)
    with pytest.raises(InputError, match=message):
        expanded("--config", str(config))


def test_a_missing_file_is_said():
    with pytest.raises(InputError, match=r"cannot read nowhere.toml \(--config\)"):
        expanded("--config", "nowhere.toml")


def test_without_a_config_the_words_stay():
    words = ["table.csv", "--group", "dx"]
    assert expanded(*words) == [*words, "--out", "x"]


def test_quick_replaces_how_thorough_the_file_is(tmp_path):
    config = tmp_path / "config.toml"
    write_config(config, {"n_permutations": 999, "n_repeats": 5, "peers": True, "seed": 7})
    found = parsed("--config", str(config), "--quick")
    decided = (found.n_permutations, found.n_repeats, found.peers)
    assert (*decided, found.seed) == (None, None, None, 7)
    found = parsed("--config", str(config), "--quick", "--permutations", "50")
    assert found.n_permutations == 50


def test_an_empty_list_does_not_swallow_the_tables(tmp_path):
    config = tmp_path / "config.toml"
    write_config(config, {"missing": [], "tables": [tmp_path / "t.csv"]})
    found = parsed("--config", str(config))
    assert found.missing == []
    assert found.tables == [tmp_path / "t.csv"]


def test_a_config_has_every_option_by_its_name_and_nothing_of_one_run(tmp_path):
    path = tmp_path / "config.toml"
    words = ["compare", "t.csv", "--half-samples", "3", "--rows-are-subjects", "--workers", "2"]
    chosen = parser().parse_args([*words, "--quick", "--out", "x"])
    write_config(path, vars(chosen))
    written = tomllib.loads(path.read_text())
    assert written["half-samples"] == 3
    assert written["rows-are-subjects"]
    assert not {"workers", "quick", "out", "config", "command"} & set(written)
