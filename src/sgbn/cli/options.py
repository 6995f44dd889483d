"""What all commands share: their options, parsers, help pages, configs and messages.

In the order of the file:

- types of command-line arguments, the folder that a command writes to, and its workers;
- the options of ``options.toml``, which several commands have, and the help texts and options of
  each command in ``commands.toml``;
- the layout of help pages: text in paragraphs, and examples in lines that can be copied;
- the settings of a run as a TOML file. Every run writes one, and ``--config`` repeats the run.
  Paths in it are relative to its folder, so that a folder with data and results can be moved;
- the option of each argument of the library, for messages, which name arguments as values.

The parser, its help, config.toml and the calls of the readers and of `Settings` are made from the
TOML files, not from the library, because the import of the library takes seconds and ``--help``
must be fast. tests/cli/test_options.py compares them with the signatures and defaults of the
library.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sgbn.cohort.atlas import ATLAS_NAMES, names_table
from sgbn.core.problems import InputError, did_you_mean
from sgbn.paper import BASELINES

if TYPE_CHECKING:
    import pandas as pd


SLURM_LOGS = "slurm-logs"  # name of a folder in --out
SLURM_HELP = (
    "run the tasks in SLURM jobs. sgbn submits the jobs, replaces jobs that end early, and cancels "
    "the jobs at the end; the results are the same. Separate the keys by commas: jobs (default: "
    "4), partition, account, qos, constraint, walltime (of a job, HH:MM:SS), memory (of a job; "
    "default: 4GB per process), processes (per job; default: 1), interface (of the network, such "
    "as ib0), scratch (a folder on the node), extra (an option of sbatch), setup (a shell line to "
    "run before the workers start), retries (default: 3). Or start sgbn with srun, and give the "
    "word runner: the first process then runs the command, and the others are its workers"
)


class OptionError(InputError):
    """An option has a wrong value, or conflicts with another option. The exit code is 2."""


def at_least(smallest: int) -> Callable[[str], int]:
    """Return the type of an argument that is a whole number, at least `smallest`."""

    def whole_number(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < smallest:
            raise argparse.ArgumentTypeError(f"{number} is too small: give {smallest} or more")
        return number

    return whole_number


def all_or_number(text: str) -> int | None:
    """Read an argument that is a whole number from 2 upwards, or "all", which becomes None."""
    return None if text == "all" else at_least(2)(text)


def _number(allows: Callable[[float], bool], which: str) -> Callable[[str], float]:
    """Return the type of an argument that is a finite number; `which` says what is allowed."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        # float reads "nan" and "inf" too, and no comparison with a NaN is true.
        if not (math.isfinite(value) and allows(value)):
            raise argparse.ArgumentTypeError(f"{text} is not a number {which}")
        return value

    return number


def make_folder(path: Path) -> Path:
    """Make the folder of ``--out``, and check before any work that it is writable."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        # Only an attempt to write shows that the disk is full or read-only; access rights do not.
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        # os.path.isfile, unlike Path.is_file, returns False if a folder may not be entered.
        # The system's error "not a directory" does not name the part of the path that is a file.
        file = next((above for above in (path, *path.parents) if os.path.isfile(above)), None)
        reason = (error.strerror or str(error)).lower()
        if file is not None:
            reason = "it is a file" if file == path else f"{file} is a file"
        raise InputError("out.unwritable", folder=path, reason=reason).says(
            "cannot write to {folder}: {reason:s}", "Give another folder ({out=})."
        ) from error
    return path


def write_whole(table: pd.DataFrame, path: Path) -> None:
    """Write a table as a CSV file; if writing fails, no incomplete file is left."""
    from sgbn.runs.files import write_atomically

    write_atomically(path, lambda stream: table.to_csv(stream, index=False))


@contextmanager
def folder_of_results(path: Path) -> Iterator[Path]:
    """Make the folder of ``--out`` for a context; after an error, remove new empty folders."""
    folders = (path, *path.parents)  # the deepest first
    # os.path.exists, unlike Path.exists, returns False for names that the system refuses.
    made = [folder for folder in folders if not os.path.exists(folder)]
    try:
        yield make_folder(path)
    # BaseException: after Ctrl-C no empty folders are left either.
    except BaseException:
        for folder in made:
            with suppress(OSError):  # the folder is not empty, or was never made
                folder.rmdir()
        raise


def add_worker_options(parser: Any, default: int | None = None) -> None:
    """Add ``--workers``, ``--dask`` and ``--slurm``.

    Parameters
    ----------
    parser : ArgumentParser or argument group
        The parser of the command, or a group of its options.
    default : int, optional
        Number of processes if ``--workers`` is not given; None means one per processor.
    """
    ways = parser.add_mutually_exclusive_group()
    usual = "all processors" if default is None else default
    ways.add_argument(
        "--workers",
        type=at_least(1),
        default=default,
        metavar="N",
        help=f"number of processes on this machine (default: {usual})",
    )
    ways.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run the tasks on the cluster of this Dask scheduler, such as tcp://host:8786; the "
        "results are the same",
    )
    ways.add_argument("--slurm", type=slurm_text, metavar="KEY=VALUE,...", help=SLURM_HELP)


def slurm_text(text: str) -> str:
    """Check the value of ``--slurm``, and return it as it is."""
    from sgbn.runs.slurm import SlurmOptions

    if not text.strip():
        raise argparse.ArgumentTypeError(
            "it is empty. Give key=value pairs separated by commas, such as partition=main,jobs=4"
        )
    try:
        # `workers` reads the text again. Here a wrong key is reported before any work begins.
        SlurmOptions.of(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def local_workers(arguments: argparse.Namespace) -> int:
    """Return the number of processes that a command may use on this machine."""
    from sgbn.runs.tasks import n_processors

    return int(arguments.workers or n_processors())


@contextmanager
def workers(arguments: argparse.Namespace) -> Iterator[int]:
    """Run tasks where ``--workers``, ``--dask`` or ``--slurm`` say, and yield `n_jobs`."""
    from sgbn.runs.dask import on_dask
    from sgbn.runs.slurm import on_slurm

    if arguments.dask is not None:
        # On a cluster `n_jobs` has no effect: the workers of the cluster do the tasks.
        with on_dask(arguments.dask):
            yield 1
    elif arguments.slurm is not None:
        with on_slurm(arguments.slurm, arguments.out / SLURM_LOGS, progress=True):
            yield 1
    else:
        yield local_workers(arguments)


def step_of_srun(arguments: argparse.Namespace) -> AbstractContextManager[object]:
    """Return the context of the whole command, which ``--slurm runner`` needs.

    With ``--slurm runner``, srun starts several processes. Only the first one enters the context.
    The others become its workers before they read, print or write anything.
    """
    text = getattr(arguments, "slurm", None)  # some commands have no option --slurm
    if text is None:
        return nullcontext()
    from sgbn.runs.slurm import SlurmOptions, slurm_step

    # Without `runner`, this process submits the jobs in `workers`.
    options = SlurmOptions.of(text)
    return slurm_step(options) if options.runner else nullcontext()


ENSEMBLE = "ensemble"
# Names of classes in write/classes.toml, except `ENSEMBLE`.
LEARNERS = (ENSEMBLE, "SGBN", "ORSGBN", "HSGBN", *BASELINES)
# Kind of an option -> keywords of argparse's `add_argument`
KINDS: dict[str, Mapping[str, Any]] = {
    "switch": {"action": "store_true"},
    # None means that neither form was typed. Then the library or --quick sets the value.
    "yes or no": {"action": argparse.BooleanOptionalAction, "default": None},
    "number": {"type": _number(lambda value: value >= 0, "from 0 upwards")},
    "positive": {"type": _number(lambda value: value > 0, "above 0")},
    "share": {"type": _number(lambda value: 0 < value < 1, "above 0 and below 1")},
    "count": {"type": at_least(0), "metavar": "N"},
    "float": {"type": float},
    "from 0 to 1": {"type": _number(lambda value: 0 <= value <= 1, "from 0 to 1")},
    **{f"from {smallest}": {"type": at_least(smallest)} for smallest in (0, 1, 2, 4, 10, 19)},
    "all or number": {"type": all_or_number},
    "lower case": {"type": str.lower},
    "path": {"type": Path},
    # "extend" allows a list in parts: --covariates age --covariates sex
    "list": {"nargs": "+", "action": "extend"},
    "list or none": {"nargs": "*", "action": "extend"},
    # The value is () if the option was not typed, and [] if it was typed without a name.
    "some or all": {"nargs": "*", "default": ()},
    "learner": {"choices": LEARNERS},
}


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Attributes
    ----------
    name : str
        Name of the option after the dashes, and of its key in a config.
    help : str
        Text of the option in the help.
    kind : mapping
        Keywords of argparse's `add_argument` that describe its values.
    keyword : str
        Name of the argument in the library; "" if it is `name` with underscores.
    positional : bool
        Whether it is an argument without dashes.
    """

    name: str
    help: str
    kind: Mapping[str, Any] = field(default_factory=dict)
    keyword: str = ""
    positional: bool = False

    @property
    def dest(self) -> str:
        """Return the name of its value in the arguments and in the library."""
        return self.keyword or self.name.replace("-", "_")


def add_options(parser: argparse._ActionsContainer, options: Iterable[Option]) -> None:
    """Add options to a parser, or to a group of its options."""
    for option in options:
        if option.positional:
            parser.add_argument(option.name, help=option.help, **option.kind)
        else:
            dashed = f"--{option.name}"
            parser.add_argument(dashed, dest=option.dest, help=option.help, **option.kind)


def read_option(
    name: str,
    help: str,
    kind: str = "",
    keyword: str = "",
    positional: bool = False,
    **of_argparse: Any,
) -> Option:
    """Return the option that an entry of a TOML file describes.

    Parameters
    ----------
    name, help, keyword, positional
        As in `Option`.
    kind : str
        A key of `KINDS`, or "".
    **of_argparse
        Further keywords of argparse's `add_argument`, such as ``choices``.
    """
    text = help.replace("{atlas_names}", ATLAS_NAMES)
    if "choices" in of_argparse:
        of_argparse["choices"] = tuple(of_argparse["choices"])
    values = {**(KINDS[kind] if kind else {}), **of_argparse}
    return Option(name, text, values, keyword, positional)


def read_words(file: str) -> dict[str, Any]:
    """Read a TOML file of this package."""
    return tomllib.loads(files("sgbn.cli").joinpath(file).read_text(encoding="utf-8"))


_SECTIONS = {
    name: tuple(read_option(**entry) for entry in entries)
    for name, entries in read_words("options.toml").items()
}
COLUMNS, FILES, SERIES = (_SECTIONS[name] for name in ("columns", "files", "series"))
LEARNER, QUICK = _SECTIONS["learner"], _SECTIONS["quick"]  # --quick sets the options in QUICK
# Sections with only one option, which some commands add without other sections.
(ROWS,), (SUBJECTS_IN_REPORT,) = _SECTIONS["rows"], _SECTIONS["subjects_in_report"]
(REFERENCE,), (TABLES,) = _SECTIONS["reference"], _SECTIONS["tables"]
TABLE = (*COLUMNS, *FILES)
WHAT = (REFERENCE, *LEARNER, *_SECTIONS["what"])
HOW = (*QUICK, *_SECTIONS["how"])
# `compare` takes the learner as an argument of its own, beside the settings.
SETTINGS = tuple(option for option in (ROWS, *WHAT, *HOW) if option not in LEARNER)


_WORDS = read_words("commands.toml")


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], None] | None = None,
) -> argparse.ArgumentParser:
    """Add a command with its help, and return its parser, which has no options yet.

    Parameters
    ----------
    commands : subparsers
        The subcommands of the parser above.
    name : str
        Name of the command, and of its table in the file.
    run : callable, optional
        The function that runs the command; it is called with the arguments. None for a command
        that only has subcommands.
    """
    words: dict[str, Any] = _WORDS[name]
    parser = commands.add_parser(
        name,
        help=words["help"],
        description=words["description"],
        epilog=examples(words["examples"], words.get("then", "")),
    )
    if run is not None:
        parser.set_defaults(run=run, parser=parser, after_interrupt=words["after_interrupt"])
    return parser


def options_of(command: str, section: str = "options") -> list[Option]:
    """Return the options of one command, in the order of its help."""
    return [read_option(**entry) for entry in _WORDS[command][section]]


INDENT = "  "


def examples(commands: dict[str, str], then: str = "") -> str:
    """Return the text at the end of a help page.

    Parameters
    ----------
    commands : dict
        Command -> what it does, in a few words.
    then : str
        Text after the examples; "" for none.
    """
    lines = [f"{INDENT}{command}\n{INDENT * 3}{what}" for command, what in commands.items()]
    return "\n".join(["examples:", *lines, *(["", then] if then else [])])


class Formatter(argparse.HelpFormatter):
    """Formatter that wraps paragraphs and leaves indented lines as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        # argparse would join all lines to one paragraph.
        return "\n".join(
            line if line.startswith(INDENT) else textwrap.fill(line, width, initial_indent=indent)
            for line in text.splitlines()
        )


class Parser(argparse.ArgumentParser):
    """Parser of a command. argparse uses the same class for its subcommands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=Formatter, **options)
        self.add_argument(
            "--debug",
            action="store_true",
            # Without a default, the parser of a subcommand does not reset an earlier --debug.
            default=argparse.SUPPRESS,
            help="show the traceback of an error",
        )
        self.add_argument(
            "--names",
            action="store_true",
            default=argparse.SUPPRESS,
            help="name subjects in messages",
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the words, and report an unknown option with options of similar names."""
        parsed, rest = super().parse_known_args(args, namespace)
        # argparse would report them for the main command, which does not have these options.
        unknown = [word.split("=")[0] for word in rest if word.startswith("--")]
        if unknown:
            known = [name for name in self._option_string_actions if name.startswith("--")]
            self.error(f"there is no option {unknown[0]}. {did_you_mean(unknown[0], known)}")
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        """Print a message of one line and exit; the usage of a command would fill a screen."""
        # Messages of sgbn end with a full stop, and messages of argparse do not.
        end = "" if message.endswith(("?", ".")) else "."
        self.exit(2, f"{self.prog}: {message}{end} All options: {self.prog} --help\n")


TABLES_KEY = "tables"  # the only key of a config that is an argument without dashes
OPTIONS = {one.name: one.dest for one in (*TABLE, *SERIES, *LEARNER, *SETTINGS)} | {
    TABLES_KEY: TABLES_KEY
}
ATLAS = "atlas"
PATHS = {TABLES_KEY, *(one.name for one in TABLE if one.kind.get("type") is Path)}


def config_text(path: Path, chosen: Mapping[str, Any]) -> str:
    """Return the text of a config file.

    Parameters
    ----------
    path : path
        Where the file will be written. Paths in the file are relative to its folder.
    chosen : dict
        Name of each argument in Python -> its value. Values that are None, and names that are not
        options, are left out.
    """
    import tomli_w

    # Sorted, so that the same run writes the same file.
    # TOML has no null: an option that is None is left out, and is read as not given.
    given = {name: chosen.get(dest) for name, dest in sorted(OPTIONS.items())}
    written = {
        name: _relative(value, path.parent) if _is_path(name, value) else _plain(value)
        for name, value in given.items()
        if value is not None
    }
    head = "# Repeats this run: sgbn compare --config THIS_FILE --out NEW_FOLDER\n"
    return head + tomli_w.dumps(written)


def with_config(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """Add the options of the ``--config`` file to a command line, whose options take precedence.

    Parameters
    ----------
    parser : ArgumentParser
        The parser of the command, which has an option ``--config``.
    words : sequence of str
        The words of the command line after the name of the command.
    """
    given = _given(parser, words)
    path = given.pop("config", None)
    if path is None:
        return list(words)
    # If --quick is on the command line, it replaces the file's values of the options that it sets.
    replaced = {*given, *(option.dest for option in QUICK if "quick" in given)}
    tables: list[str] = []
    options: list[str] = []
    for name, value in _read(path).items():
        if name not in OPTIONS:
            near = did_you_mean(name, sorted(OPTIONS))
            raise InputError("config.option", file=path, name=name, near=near).says(
                "{file} ({config=}) has {name}, which is not an option", "{near}"
            )
        if OPTIONS[name] in replaced:
            continue
        value = _absolute(value, path) if _is_path(name, value, path.parent) else value
        if name == TABLES_KEY:
            tables = [str(table) for table in (value if isinstance(value, list) else [value])]
        else:
            options += _as_words(parser, name, value)
    # Tables come first: an option of several values would take a table that follows it.
    return [*tables, *options, *words]


def _is_path(name: str, value: Any, folder: str | Path = ".") -> bool:
    """Return whether the value of an option is a path; an atlas may be a table or a name."""
    if name == ATLAS and isinstance(value, str):
        return names_table(value, folder)
    return name in PATHS


def _given(parser: argparse.ArgumentParser, words: Sequence[str]) -> dict[str, Any]:
    """Return the options that were typed on the command line."""
    # argparse does not say what was typed: an option that equals its default counts as not typed.
    parsed, _ = parser.parse_known_args(list(words))
    named = {action.dest: getattr(parsed, action.dest, None) for action in parser._actions}
    return {
        name: value
        for name, value in named.items()
        # Without a table argparse gives [], although the default is None.
        if value != parser.get_default(name) and not (name == "tables" and not value)
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("config.unreadable", file=path, reason=error.strerror).says(
            "cannot read {file} ({config=}): {reason:s}", "Check the path."
        ) from error
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deeply
        raise InputError("config.not-toml", file=path, reason=str(error)).says(
            "{file} ({config=}) is not a TOML file: {reason:s}", "Give the config.toml of a run."
        ) from error


def _as_words(parser: argparse.ArgumentParser, name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        # A switch has no form --no-NAME, and does not need it, because it is off by default.
        word = f"--{name}" if value else f"--no-{name}"
        return [word] if word in parser._option_string_actions else []
    # An empty list becomes an option without a value, which means none, not the default.
    if value == []:
        return [f"--{name}"]
    # Name and value in one word, because a value may begin with a dash and look like an option.
    return [f"--{name}={part}" for part in (value if isinstance(value, list) else [value])]


def _plain(value: Any) -> Any:
    return [str(part) for part in value] if isinstance(value, list | tuple) else value


def _relative(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_relative(part, folder) for part in value]
    # With slashes, so that a config from Windows can be read on other systems.
    return Path(os.path.relpath(value, folder)).as_posix()


def _absolute(value: Any, path: Path) -> Any:
    if isinstance(value, list):
        return [_absolute(part, path) for part in value]
    if not isinstance(value, str):
        raise InputError("config.path", file=path, value=repr(value)[:60]).says(
            "{file} ({config=}): {value:s} is not a path", "Write the path in quotes."
        )
    # An absolute path stays as it is: the operator `/` drops the folder before it.
    return os.path.normpath(path.parent / value)


# Names of arguments of the library that no option shares
KEYWORDS = {
    **{"n_per_group": "--sizes", "n_sites": "--sites", "random_state": "--seed"},
    **{"sites": "--site", "blocks": "--block", "pairs": "--pair"},
    **{"person": "--subject", "persons": "--subject"},
    **{"n_jobs": "--workers", "column_transform": "--transform", "format": "--from"},
}
# These commands say what `sgbn compare` does, or would do.
AS_COMPARE = ("sgbn check", "sgbn demo")


def option_names(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the option of each argument of the library, for the messages of a command."""
    known = {
        action.dest: action.option_strings[0] for action in parser._actions if action.option_strings
    }
    if parser.prog in AS_COMPARE:
        known = {dest: f"--{name}" for name, dest in OPTIONS.items()} | known
    spelt = {name: option for name, option in KEYWORDS.items() if option in known.values()}
    return known | spelt
