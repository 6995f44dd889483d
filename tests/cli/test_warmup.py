from importlib import import_module

import pytest

from sgbn.cli import other
from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import Settings
from sgbn.core import jit
from sgbn.core.graph import levels


@pytest.mark.long
def test_a_comparison_after_it_compiles_nothing(capsys):
    assert main(["warmup"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    used = jit.cache_use()
    assert f"Compiled {used.n_compiled} kernels and loaded {used.n_loaded} from disk in " in last
    assert last.endswith(f"The machine code is in {used.folder}.")

    cohort = simulate_cohort(50, 1, regions=30)
    settings = Settings(n_permutations=20, n_pairs=3, n_folds=3, n_repeats=1)
    compare(cohort, settings, n_jobs=1)
    assert jit.cache_use() == used


@pytest.fixture
def one_kernel(monkeypatch):
    """A warmup that uses one kernel only."""
    monkeypatch.setattr(other, "_use_every_kernel", lambda: levels([[0, 1], [0, 0]]))


def test_both_searches_and_every_step_are_used(monkeypatch, capsys):
    fitted, compared = [], []

    def note(cohort, settings, n_jobs, on_step):
        compared.append((cohort.values.shape, settings, n_jobs))
        on_step("Networks")

    monkeypatch.setattr("sgbn.SGBN.fit", lambda _, values: fitted.append(values.shape))
    monkeypatch.setattr(import_module("sgbn.comparison.compare"), "compare", note)
    other._use_every_kernel()
    assert fitted == [(80, other.FEW_REGIONS)]
    ((shape, settings, n_jobs),) = compared
    assert shape == (80, 40)
    assert n_jobs == 1  # kernels of other processes are not counted
    steps = ("n_permutations", "n_pairs", "n_folds", "n_repeats")
    assert [getattr(settings, name) for name in steps] == [20, 2, 2, 1]
    assert capsys.readouterr().out == "Networks ...\n"


def test_where_nothing_can_be_kept_it_says_what_to_do(one_kernel, monkeypatch, capsys):
    monkeypatch.setattr(jit, "cache_use", lambda: jit.CacheUse(3, 0, None))
    assert main(["warmup"]) == 1
    assert "sgbn warmup: no folder for the machine code is writable" in capsys.readouterr().err


def test_it_takes_no_arguments(capsys):
    with pytest.raises(SystemExit):
        main(["warmup", "table.csv"])
    assert "table.csv" in capsys.readouterr().err
