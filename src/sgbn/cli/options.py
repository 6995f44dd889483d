"""Options of reading tables and of a comparison, each said once.

The parser, its help, config.toml and the calls of the readers and of `Settings` are made from these
lists. They stand here and not in the library, whose import takes seconds, so that ``--help`` is
quick; tests/cli/test_options.py compares them with the signatures and defaults of the library.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgbn.atlases.library import ATLAS_NAMES
from sgbn.cli.arguments import at_least, number_above, number_from

ENSEMBLE = "ensemble"
LEARNERS = (ENSEMBLE, "SGBN", "ORSGBN", "HSGBN", "L1MB", "GS", "TC", "TCbw", "IAMB", "InterIAMB")

ATLAS_COLUMNS = (
    "with the columns region, hemisphere, lobe, x, y, z (MNI, in mm) and, if known, volume_mm3; or "
    "a BIDS dseg.tsv. Lobes or coordinates may be absent: without coordinates no brain is drawn"
)


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes
    ----------
    name : str
        Of ``--name``, and of the key in a config.
    help : str
    kind : dict
        What argparse is told about its values.
    keyword : str
        What the library calls it; by default the name.
    """

    name: str
    help: str
    kind: Mapping[str, Any] = field(default_factory=dict)
    keyword: str = ""

    @property
    def dest(self) -> str:
        """Name of its value, in arguments and in Python."""
        return self.keyword or self.name.replace("-", "_")


def add_options(parser: argparse._ActionsContainer, options: Iterable[Option]) -> None:
    """Add options to a parser, or to a group of one."""
    for one in options:
        parser.add_argument(f"--{one.name}", dest=one.dest, help=one.help, **one.kind)


SWITCH = {"action": "store_true"}
YES_OR_NO = {"action": argparse.BooleanOptionalAction, "default": None}
NUMBER = {"type": number_from(0)}
POSITIVE = {"type": number_above(0)}
SHARE = {"type": number_above(0, below=1)}
COUNT = {"type": at_least(0), "metavar": "N"}
COLUMN = {"metavar": "COLUMN"}
LIST = {"nargs": "+", "action": "extend"}
LIST_OR_NONE = {"nargs": "*", "action": "extend"}
NAMES = {**LIST, "metavar": "NAME"}

COLUMNS = (
    Option("group", "column of the groups", COLUMN),
    Option("id", "column of the subjects' names", COLUMN),
    Option(
        "covariates",
        "such as age sex eTIV; this and other lists may be given in parts",
        {**LIST, **COLUMN},
    ),
    Option(
        "smooth",
        "those of --covariates whose effects are curves (penalised splines), such as age; the "
        "others are linear",
        {**LIST, **COLUMN},
    ),
    Option("site", "column of the site or scanner", COLUMN),
    Option(
        "pair",
        "column of the person behind each row, where each has a visit in every group; may be "
        "that of --id",
        COLUMN,
    ),
    Option(
        "subject",
        "column of the person behind each row, where a person has several rows in one group, "
        "such as sessions: they are exchanged, halved and cross-validated together",
        COLUMN,
    ),
    Option(
        "block",
        "column of the family of each row, or of another label of rows that are not "
        "independent; it may span groups",
        COLUMN,
    ),
    Option(
        "regions",
        "names or patterns such as 'lh_*' of the regions; 'all' takes every numeric column "
        "that is not named otherwise (those that an atlas knows)",
        NAMES,
    ),
    Option(
        "lobes",
        "take the regions of these lobes only, such as frontal temporal; the atlas says which",
        NAMES,
    ),
    Option("exclude", "columns or patterns to leave out", NAMES),
    Option(
        "measure",
        "thickness, volume or area, where a table holds several of a region; of several names "
        "each region has the first that there is",
        NAMES,
    ),
)
FILES = (
    Option("groups", "take these groups only", {**LIST, "metavar": "LABEL"}),
    Option(
        "freesurfer",
        "the table is one of aparcstats2table or asegstats2table (several always are)",
        SWITCH,
    ),
    Option(
        "participants",
        "table to join, such as participants.tsv",
        {"type": Path, "metavar": "FILE"},
    ),
    Option(
        "participants-missing",
        "subjects whom --participants does not list: refuse them, or drop them by name (refuse)",
        {"choices": ("refuse", "drop")},
    ),
    Option(
        "missing",
        "stands for a missing cell, such as -999, beside the usual marks; none: take such "
        "numbers as they are",
        {**LIST_OR_NONE, "metavar": "VALUE"},
    ),
    Option("delimiter", "between cells (found)"),
    Option("decimal", "decimal point or comma (found)", {"choices": (".", ",")}),
    Option(
        "atlas",
        f"{ATLAS_NAMES}, or a table of your own (.csv, .tsv, .txt) "
        f"{ATLAS_COLUMNS} (found by the names of the columns; that of sgbn extract beside the "
        "table counts too)",
        {"metavar": "NAME_OR_TABLE"},
    ),
    Option(
        "sheet",
        "sheet of an Excel file by name or number, the first is 1; not for FreeSurfer tables "
        "(the first)",
    ),
)
TABLE = (*COLUMNS, *FILES)
SERIES = (
    Option(
        "tr",
        "seconds from volume to volume of time series (as the files beside them say)",
        {**POSITIVE, "metavar": "SECONDS"},
    ),
    Option(
        "files",
        "pattern of the files of a folder of time series, such as '*seg-Gordon*' (all that hold "
        "series)",
        {"metavar": "PATTERN"},
    ),
)
ROWS = Option(
    "rows-are-subjects",
    "rows that look like sessions of a person, copies or points in time are subjects all "
    "the same; the report repeats it",
    SWITCH,
)
SUBJECTS_IN_REPORT = Option(
    "subjects-in-report",
    "name subjects in the report and list them one by one, with diagnosis and prediction; "
    "otherwise only the tables beside it do",
    SWITCH,
)
LEARNER = (
    Option("learner", "of the networks (ensemble)", {"choices": LEARNERS}),
    Option(
        "gamma",
        "sparsity of the networks by the ensemble or SGBN, 0 or more, the same for all "
        "groups; smaller gives more edges (ensemble, a prior: 0.75; SGBN: 1 up to 100 subjects in "
        "the largest group, half the decimal logarithm of their number beyond)",
        NUMBER,
    ),
    Option("alpha", "penalty of ORSGBN and HSGBN, above 0 (0.1)", POSITIVE),
)
REFERENCE = Option(
    "reference",
    "compare with this group (one that is called like controls, else the first by name)",
    {"metavar": "GROUP"},
)
WHAT = (
    REFERENCE,
    *LEARNER,
    Option(
        "outliers",
        "leave subjects that lie far from the others of their group out of networks, half "
        "samples and tests of differences, by name, or keep them (trim)",
        {"choices": ("trim", "keep")},
    ),
    Option(
        "transform",
        "learn graphs from the values or from their ranks, for curved relations; `sgbn check` "
        "says where it helps (none)",
        {"choices": ("none", "normal-scores")},
    ),
    Option(
        "replicate",
        "half, or COLUMN=VALUE such as site=NYU: hold back a random half, or these subjects, "
        "and test in them the differences that the others show (no)",
        {"metavar": "HOW"},
    ),
    Option(
        "edges",
        "edges that you named before you saw the data: each is tested by itself as well",
        {**LIST, "metavar": "SOURCE:TARGET"},
    ),
    Option(
        "among",
        "regions or lobes that you named beforehand: all edges between them are tested "
        "together as well",
        NAMES,
    ),
    Option(
        "select",
        "regions that classifiers may use, chosen anew in each training part; networks and "
        "tests keep all (all)",
        {"type": at_least(1), "metavar": "N"},
    ),
)
QUICK = (  # what --quick decides
    Option(
        "permutations",
        "of the tests of differences (999; 0: no tests)",
        COUNT,
        "n_permutations",
    ),
    Option(
        "half-samples",
        "pairs of half samples, for the confidence of edges (50; 0: none)",
        COUNT,
        "n_pairs",
    ),
    Option(
        "repeats",
        "of the cross-validation; 0: none (4 with a few hundred subjects, fewer with thousands)",
        COUNT,
        "n_repeats",
    ),
    Option(
        "folds", "of the cross-validation (5)", {"type": at_least(2), "metavar": "N"}, "n_folds"
    ),
    Option(
        "refinements",
        "discriminative refinements: KL-SGBN MM-SGBN CL-SGBN (all; none: leave the step out)",
        {**LIST_OR_NONE, "choices": ("KL-SGBN", "MM-SGBN", "CL-SGBN"), "metavar": "NAME"},
    ),
    Option(
        "models",
        "say whether hidden factors predict unseen subjects better than a network (yes)",
        YES_OR_NO,
    ),
    Option(
        "sensitivity",
        "repeat the tests of differences with other sparsity and another order (yes)",
        YES_OR_NO,
    ),
    Option("deviations", "say how far each subject is from the reference group (yes)", YES_OR_NO),
    Option(
        "model",
        "write model.sgbn, the classifier fitted to all subjects, for sgbn predict (yes)",
        YES_OR_NO,
    ),
    Option(
        "peers",
        "classify by common methods and networks of other sparsity as well (yes)",
        YES_OR_NO,
    ),
)
HOW = (
    *QUICK,
    Option(
        "accuracy-permutations",
        "of the labels, for a p of the accuracy; the classifier is fitted anew for each (0: none)",
        COUNT,
    ),
    Option("level", "of tests and intervals, above 0 and below 1 (0.05)", SHARE),
    Option("seed", "of everything random (0)", {"type": at_least(0)}),
)
SETTINGS = tuple(one for one in (ROWS, *WHAT, *HOW) if one not in LEARNER)
