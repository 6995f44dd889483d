"""`sgbn warmup` compiles in advance the machine code that a comparison needs."""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

from sgbn.cli.commands import add_command
from sgbn.core.exceptions import InputError

# The comparison is as small as each step allows, but calls every kernel.
SUBJECTS, SEED = 40, 0  # subjects per group; they have 40 regions, too many for the exact search
FEW: dict[str, Any] = {"n_permutations": 20, "n_pairs": 2, "n_folds": 2, "n_repeats": 1}
FEW_REGIONS = 8  # few enough for the exact search, which has its own kernels
NOWHERE = (
    "no folder for the machine code is writable, so each process would compile it again. Set "
    "NUMBA_CACHE_DIR to a writable folder, and start this command again."
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `warmup` to the subcommands."""
    add_command(commands, "warmup", run)


def run(_: argparse.Namespace) -> None:
    """Compile the kernels, and print how long it took and where the machine code is."""
    from sgbn.core.jit import cache_use

    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the subjects are few on purpose, which gives warnings
        _use_every_kernel()
    used = cache_use()
    if used.folder is None:
        raise InputError(NOWHERE)
    print(
        f"Compiled {used.n_compiled} kernels and loaded {used.n_loaded} from disk in "
        f"{time.perf_counter() - begin:.0f} s. The machine code is in {used.folder}."
    )


def _use_every_kernel() -> None:
    from sgbn.cohort.simulate import simulate_cohort
    from sgbn.comparison.compare import compare
    from sgbn.comparison.settings import Settings
    from sgbn.learn.sgbn import SGBN

    cohort = simulate_cohort(SUBJECTS, SEED)
    SGBN().fit(cohort.values[:, :FEW_REGIONS])
    # n_jobs=1, because `cache_use` counts only the kernels of this process.
    settings = Settings(seed=SEED, **FEW)
    compare(cohort, settings, n_jobs=1, on_step=lambda step: print(f"{step} ...", flush=True))
