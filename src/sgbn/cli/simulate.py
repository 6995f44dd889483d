"""`sgbn simulate`: a cohort with known truth, as files."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.atlases.library import ATLAS_NAMES
from sgbn.cli.arguments import at_least, make_folder, number_from
from sgbn.cli.help import examples

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.datasets import SimulatedCohort

COVARIATES = ("age", "sex", "eTIV")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `simulate` to the subcommands."""
    parser = commands.add_parser(
        "simulate",
        help="write a simulated cohort and its known truth as files",
        description="Simulates groups of subjects, volumes of the regions of an atlas, from known "
        "networks, and writes the cohort as a table with the truth beside it.",
        epilog=examples(
            {
                "sgbn simulate --out study": "two groups of 40 regions",
                "sgbn simulate --out study --sites 3 --covariates --missing 0.02": "with what real "
                "tables have",
            }
        ),
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "--subjects", type=at_least(1), default=200, metavar="N", help="in each group (200)"
    )
    sizes.add_argument(
        "--sizes", type=at_least(1), nargs="+", metavar="N", help="subjects, a number per group"
    )
    parser.add_argument(
        "--groups", nargs="+", default=["control", "patient"], metavar="NAME", help="two or more"
    )
    parser.add_argument(
        "--atlas",
        default="aal",
        metavar="NAME_OR_TABLE",
        help=f"{ATLAS_NAMES}, or a table of your own (.csv, .tsv, .txt) with the columns region, "
        "hemisphere, lobe, volume_mm3 and, for pictures, x, y, z (aal)",
    )
    parser.add_argument(
        "--regions", type=_all_or_number, default=40, help="number of regions, or 'all' (40)"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of what is random (0)")
    _add_effects(parser)
    parser.set_defaults(run=run, after_interrupt="Start the same command again.")


def _add_effects(parser: argparse.ArgumentParser) -> None:
    effects = parser.add_argument_group("what is in the data")
    effects.add_argument(
        "--differ",
        choices=("both", "edges", "means", "nothing"),
        default="both",
        help="what the groups differ in (both)",
    )
    effects.add_argument("--sites", type=at_least(0), default=0, metavar="K", help="sites (0)")
    effects.add_argument(
        "--covariates",
        nargs="*",
        default=(),
        choices=COVARIATES,
        metavar="NAME",
        help="some of age, sex and eTIV; without a name all three (none)",
    )
    effects.add_argument(
        "--missing", type=number_from(0), default=0.0, metavar="SHARE", help="of all cells (0)"
    )
    effects.add_argument(
        "--confounding",
        type=number_from(0, 1),
        default=0.0,
        metavar="SHARE",
        help="how far age and sites differ between the groups, from 0 to 1 (0)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Simulate, write, say what comes next."""
    from sgbn.datasets import simulate_cohort
    from sgbn.io.tables.cohorts import write_table
    from sgbn.runs import versions, write_json

    settings = _settings(arguments)
    cohort = simulate_cohort(**settings)
    # After the simulation, which checks the options: a mistake leaves no folder.
    make_folder(arguments.out)
    table = arguments.out / "cohort.csv"
    write_table(cohort, table)
    written = [table, *_write_truth(cohort, arguments.out)]
    about = arguments.out / "about.json"
    # Without the folder of the program, which is of no use elsewhere.
    command = [Path(sys.argv[0]).name, *sys.argv[1:]]
    write_json(about, {"settings": settings, "versions": versions(), "command": command})
    print(cohort.summary())
    print()
    for path in [*written, about]:
        print(f"Wrote {path}.")
    options = _reading_options(cohort, arguments.atlas)
    print("\nNext:")
    print(f"  sgbn check {shlex.quote(str(table))} {options}")
    # Quoted, so that the line can be copied also where a path has blanks.
    results = shlex.quote(str(arguments.out / "results"))
    print(f"  sgbn compare {shlex.quote(str(table))} {options} --out {results}")


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `simulate_cohort`, as JSON can write them."""
    # The default is a tuple, so that an empty list can only have been typed.
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
    """Options that name the table's columns, and the atlas where the columns do not tell it."""
    from sgbn.atlases import match_columns

    words = ["--group", "group", "--id", "subject_id"]
    words += ["--covariates", *cohort.covariates] if cohort.covariates else []
    # Without it the sites would not be harmonised.
    words += ["--site", "site"] if cohort.site is not None else []
    told = match_columns(cohort.regions)  # several atlases may have all of these names
    # --atlas is needed only where the names fit no atlas, another one, or several.
    if told.atlas != cohort.atlas or told.others:
        words += ["--atlas", atlas]
    return shlex.join(words)


def _write_truth(cohort: SimulatedCohort, folder: Path) -> list[Path]:
    """Tables of the truth; those of an earlier cohort in the same folder are taken away."""
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
            # Without the index: concatenated parts repeat it.
            table.to_csv(folder / name, index=False)
            written.append(folder / name)
    return written


def _edges(cohort: SimulatedCohort) -> pd.DataFrame:
    """Edges of all groups; an edge that a group has lost has weight 0."""
    import numpy as np
    import pandas as pd

    from sgbn.datasets.group_networks import standardised

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


def _all_or_number(text: str) -> int | None:
    """Type of --regions; None is all."""
    return None if text == "all" else at_least(2)(text)
