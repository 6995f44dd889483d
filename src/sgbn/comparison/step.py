"""What a step of a comparison is, and the `Job` that all steps share.

`sgbn.comparison.steps` has the steps themselves.

A finished step writes ``steps/NAME.json`` in the folder of finished work, with the seconds that it
took. A later start reads the results of the step from the same folder, and reports the seconds of
the start that computed them.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cohort.cohort import Cohort
from sgbn.comparison.settings import Settings
from sgbn.core.problems import InputError, Problem
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.ensemble import ConfidentNetwork
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.pipeline import regions_table
from sgbn.runs.files import write_json
from sgbn.runs.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


class Step(ABC):
    """A step of `compare`: each is a class in `sgbn.comparison.steps`, and `STEPS` lists them.

    Attributes
    ----------
    name : str
        The name of the step in files and messages.
    title : str
        The text of the terminal when the step begins.
    still : str
        What the result is called in a sentence while it is still computed, after the first report.
        A step of the first report has "".
    setting, off : str and object
        The setting that asks for the step, and the value that leaves it out.
    needs : str
        The name of the step without which this step is left out, or "".
    is_needed : bool
        Whether nothing can be compared without this step.
    not_for_series : str
        Why time series do not have this step, or "" if they have it.
    """

    name = title = still = setting = needs = not_for_series = ""
    off: Any = False
    is_needed = False

    def asked(self, settings: Settings) -> bool:
        """Return whether the settings ask for this step."""
        return not self.setting or bool(getattr(settings, self.setting) != self.off)

    @abstractmethod
    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Add the results to `found`, whose keys are attributes of `Comparison`.

        An InputError leaves the step out. Results that were added before are kept.
        """

    def words(self, comparison: Comparison) -> dict[str, str]:  # noqa: ARG002
        """Return answers by their questions. An answer of "" is not shown."""
        return {}

    def tables(self, comparison: Comparison) -> dict[str, pd.DataFrame]:  # noqa: ARG002
        """Return tables by the names of fields of `Tables`. Tables that are left out are empty."""
        return {}


NOT_ASKED = "the settings of this run leave this step out."


def not_done(comparison: Comparison, step: str) -> str:
    """Say why a step has no result: it is pending, it could not be done, or it was not requested.

    A pending step is in `comparison.pending`, and not yet in `comparison.skipped`.
    """
    if step in comparison.pending:
        return "Not yet computed."
    return f"Not tried: {comparison.skipped.get(step, NOT_ASKED)}"


def steps_of(settings: Settings, learner: LearnedNetwork | None = None) -> tuple[str, ...]:
    """Return the names of the steps of a comparison with this learner.

    Some learners draw half samples themselves, like the default. They learn the confidence of edges
    in the step "networks", so there is no step "confidence".
    """
    # None means the default ensemble.
    one_step = learner is None or isinstance(learner, ConfidentNetwork)
    return tuple(name for name in settings.steps if not (one_step and name == "confidence"))


@dataclass
class Job:
    """The data, settings and notes that all steps of a comparison share."""

    cohort: Cohort  # the reviewed cohort
    prepared: Cohort  # the same subjects, imputed, harmonised and with covariates taken out
    settings: Settings
    learner: LearnedNetwork  # the learner of the networks, not fitted
    searcher: Any  # the learner of all other steps, not fitted
    study: Study
    on_step: Callable[[str], None]  # it gets the title of each step that begins
    skipped: dict[str, Problem] = field(default_factory=dict)  # the reasons, by step
    seconds: dict[str, float] = field(default_factory=dict)  # by step
    unkept: set[str] = field(default_factory=set)  # steps whose results the folder does not keep

    @property
    def groups(self) -> list[str]:
        """Return the reference, and then the other groups by name."""
        reference = self.settings.reference  # False sorts before True
        return sorted(self.cohort.groups, key=lambda group: (group != reference, group))

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return the prepared regions as a table."""
        return regions_table(self.prepared)

    @property
    def test_searcher(self) -> Any:
        """Return the learner that finds the order for the tests, or None for the default."""
        return self.searcher if isinstance(self.searcher, SGBN | SeriesSGBN) else None

    def test_options(self, part: str, n_permutations: int | None = None) -> dict[str, Any]:
        """Return the keywords of all tests of differences. `part` names their part of the study."""
        settings = self.settings
        return {
            "reference": settings.reference,
            "n_permutations": settings.n_permutations if n_permutations is None else n_permutations,
            "random_state": settings.seed,
            **asdict(self.study.part(part)),
        }

    def run(self, step: Step, found: dict[str, Any]) -> None:
        """Do a step if it is requested. If the data do not allow it, `skipped` gets the reason."""
        if step.name not in steps_of(self.settings, self.learner) or step.needs in self.skipped:
            return
        self.on_step(step.title)
        begin = time.perf_counter()
        try:
            step.run(self, found)
        except InputError as error:
            if step.is_needed:
                raise
            self.skipped[step.name] = error.problem
        except Exception as error:
            # This is an error of the program, so the traceback is shown, with the step.
            error.add_note(f"in the step: {step.title}")
            raise
        took = time.perf_counter() - begin
        folder = None if step.name in {*self.unkept, *self.skipped} else self.study.folder
        self.seconds[step.name] = seconds_of_step(folder, step.name, took)


FOLDER, SECONDS = "steps", "seconds"  # the folder of the notes, and their only entry


def finished_steps(folder: str | Path | None) -> dict[str, float]:
    """Return the seconds of each finished step in a folder, by the name of the step."""
    notes = [] if folder is None else sorted((Path(folder) / FOLDER).glob("*.json"))
    noted = {path.stem: _seconds(path) for path in notes}
    return {name: seconds for name, seconds in noted.items() if seconds is not None}


def seconds_of_step(folder: str | Path | None, name: str, seconds: float) -> float:
    """Note the seconds of a finished step, unless a note exists. Return the seconds noted."""
    if folder is None:
        return seconds
    path = Path(folder) / FOLDER / f"{name}.json"
    noted = _seconds(path)
    if noted is None:  # the note of the first start stays, as later starts only read results
        path.parent.mkdir(exist_ok=True)
        write_json(path, {SECONDS: seconds})
    return seconds if noted is None else noted


def _seconds(path: Path) -> float | None:
    """Return the seconds of a note, or None if the note is missing or broken.

    A broken note must not stop a run, because it only loses the time of an earlier start.
    """
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))[SECONDS])
    except (OSError, ValueError, TypeError, KeyError):
        return None
