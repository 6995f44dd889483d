"""`sgbn simulate` writes a simulated cohort and its known truth as files."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.arguments import make_folder
from sgbn.cli.commands import add_command, options_of
from sgbn.cli.options import add_options

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.cohort.simulate import SimulatedCohort

COVARIATES = ("age", "sex", "eTIV")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `simulate` to the subcommands."""
    parser = add_command(commands, "simulate", run)
    add_options(parser.add_mutually_exclusive_group(), options_of("simulate", "sizes"))
    add_options(parser, options_of("simulate"))
    effects = parser.add_argument_group("what is in the data")
    add_options(effects, options_of("simulate", "effects"))


def run(arguments: argparse.Namespace) -> None:
    """Simulate a cohort, write its files, and print the next commands."""
    from sgbn.cohort.simulate import simulate_cohort
    from sgbn.read.table import write_table
    from sgbn.runs.files import versions, write_json

    settings = _settings(arguments)
    cohort = simulate_cohort(**settings)
    # After the simulation, which checks the options, so that a mistake leaves no folder.
    make_folder(arguments.out)
    table = arguments.out / "cohort.csv"
    write_table(cohort, table)
    written = [table, *_write_truth(cohort, arguments.out)]
    about = arguments.out / "about.json"
    # Without the folder of the program, which differs on other machines.
    command = [Path(sys.argv[0]).name, *sys.argv[1:]]
    write_json(about, {"settings": settings, "versions": versions(), "command": command})
    print(cohort.summary())
    print()
    for path in [*written, about]:
        print(f"Wrote {path}.")
    options = _reading_options(cohort, arguments.atlas)
    print("\nNext:")
    print(f"  sgbn check {shlex.quote(str(table))} {options}")
    # Quoted, so that the line can be copied even if a path has blanks.
    results = shlex.quote(str(arguments.out / "results"))
    print(f"  sgbn compare {shlex.quote(str(table))} {options} --out {results}")


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `simulate_cohort`, in types that JSON has."""
    # The default is a tuple: a list is empty only if the user typed no name.
    all_three = arguments.covariates == []  # --covariates without a name
    return {
        "n_per_group": arguments.sizes or arguments.subjects,
        "random_state": arguments.seed,
        "atlas": arguments.atlas,
        "regions": arguments.regions,
        "groups": arguments.groups,
        "differ": arguments.differ,
        "n_sites": arguments.sites,
        "covariates": list(COVARIATES if all_three else arguments.covariates),
        "missing": arguments.missing,
        "confounding": arguments.confounding,
    }


def _reading_options(cohort: SimulatedCohort, atlas: str) -> str:
    """Return the options that name the columns, and the atlas if the columns do not show it."""
    from sgbn.cohort.region_names import match_columns

    words = ["--group", "group", "--id", "subject_id"]
    words += ["--covariates", *cohort.covariates] if cohort.covariates else []
    # Without --site the sites would not be harmonised.
    words += ["--site", "site"] if cohort.site is not None else []
    by_names = match_columns(cohort.regions)  # several atlases may have all of these names
    # --atlas is needed only if the names fit no atlas, another atlas, or several.
    if by_names.atlas != cohort.atlas or by_names.others:
        words += ["--atlas", atlas]
    return shlex.join(words)


def _write_truth(cohort: SimulatedCohort, folder: Path) -> list[Path]:
    """Write the tables of the truth, and remove tables of an earlier cohort from the folder."""
    tables = {
        "truth_edges.csv": _edges(cohort),
        "truth_sites.csv": _sites(cohort),
        "truth_covariates.csv": _covariates(cohort),
    }
    written = []
    for name, table in tables.items():
        if table is None:
            (folder / name).unlink(missing_ok=True)
        else:
            # Without the index, which repeats in concatenated parts.
            table.to_csv(folder / name, index=False)
            written.append(folder / name)
    return written


def _edges(cohort: SimulatedCohort) -> pd.DataFrame:
    """Return the edges of all groups; an edge that a group has lost has weight 0."""
    import numpy as np
    import pandas as pd

    from sgbn.cohort.simulate import standardised

    # One row per edge of any group, so that the tables of the groups have the same rows.
    anywhere = np.any([network.coef != 0 for network in cohort.networks.values()], axis=0)
    i, j = np.nonzero(anywhere)
    names = np.array(cohort.regions)
    edges = list(zip(names[i].tolist(), names[j].tolist(), strict=True))
    parts = [
        pd.DataFrame(
            {
                "group": group,
                "source": names[i],
                "target": names[j],
                "weight": network.coef[i, j],
                "weight_std": standardised(network)[i, j],
                "changed": [edge in cohort.changed.get(group, ()) for edge in edges],
            }
        )
        for group, network in cohort.networks.items()
    ]
    return pd.concat(parts)


def _sites(cohort: SimulatedCohort) -> pd.DataFrame | None:
    import pandas as pd

    parts = [
        pd.DataFrame(
            {
                "site": site,
                "region": cohort.regions,
                "shift": cohort.site_shift[site],
                "scale": cohort.site_scale[site],
            }
        )
        for site in cohort.site_shift
    ]
    return pd.concat(parts) if parts else None


def _covariates(cohort: SimulatedCohort) -> pd.DataFrame | None:
    import pandas as pd

    if not cohort.covariate_effects:
        return None
    return pd.DataFrame({"region": cohort.regions, **cohort.covariate_effects})
