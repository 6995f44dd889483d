"""What a report for others must not show: names of subjects, and rows about single subjects.

Names stay in the CSV files beside the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.summary import Statement

WITHHELD = "withheld]"
ONE, SEVERAL = f"[name {WITHHELD}", f"[names {WITHHELD}"
# Neither a word nor a small number: a sentence may have these for other reasons
UNMISTAKABLE = re.compile(r"(?=.*[^\W\d_])(?=.*\d).{3,}|\d{5,}", re.DOTALL)


class Veil:
    """Takes names of subjects out of texts, unless they may be shown.

    A name is known by its quotes, by another name beside it ("12 and 13"), or because it is neither
    a word nor a small number: a sentence that counts 12 subjects stays as it is where one is called
    12.

    Parameters
    ----------
    comparison : Comparison
    lifted : bool
        Whether names may be shown.
    """

    def __init__(self, comparison: Comparison, *, lifted: bool = False) -> None:
        self.lifted = lifted
        cohort = comparison.cohort
        known = [cohort.ids, cohort.person, cohort.pair]
        known += [finding.left_out for finding in comparison.review.findings]
        names = {str(name) for labels in known if labels is not None for name in labels}
        # Messages write names as `repr` does, which escapes some letters.
        self._names = _pattern(names | {repr(name)[1:-1] for name in names})

    def text(self, text: str) -> str:
        """Text without names."""
        if self.lifted:
            return text
        return self._names.sub(_withheld, text)

    def statements(self, statements: Iterable[Statement]) -> list[Statement]:
        """Statements without names."""
        return [
            Statement(answer.question, [*map(self.text, answer.lines)]) for answer in statements
        ]

    def findings(self, comparison: Comparison) -> pd.DataFrame:
        """Level, what and action of each finding of the review, without names."""
        rows = [
            (finding.level, self.text(finding.what), self.text(finding.action))
            for finding in comparison.review.findings
        ]
        return pd.DataFrame(rows, columns=["level", "what", "action"])


def _pattern(names: set[str]) -> re.Pattern[str]:
    """Pattern of names: in quotes, several in a row, or one that is unmistakable."""
    # Longest first: of "s1" and "s10" an alternation would take the first that fits.
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    # "(?!)" fits nothing: an alternation of no names would fit everywhere.
    any_name, clear = (
        f"(?:{'|'.join(map(re.escape, chosen)) or '(?!)'})"
        for chosen in (longest_first, [*filter(UNMISTAKABLE.fullmatch, longest_first)])
    )
    # A dot or dash may be part of a longer word or number: 1.12 and sub-12 hold no subject "12".
    begin, end = r"(?<![\w.-])", r"(?![\w-])"
    bare = begin + any_name + end
    quoted = rf"['\"]{any_name}(?: and {any_name})*['\"]"
    return re.compile(
        rf"{quoted}(?:, {quoted})*|{bare}(?:(?:, | and |; ){bare})+|{begin}{clear}{end}"
    )


def _withheld(names: re.Match[str]) -> str:
    return SEVERAL if re.search(r", | and |; ", names[0]) else ONE


def left_out_table(comparison: Comparison) -> pd.DataFrame:
    """One row per subject left out of all steps, networks or tests; without columns if none is."""
    tests = comparison.tests
    steps_of: dict[tuple[str, str], list[str]] = {}  # subject and group -> what does without
    for finding in comparison.review.findings:
        for subject in finding.left_out:
            # The cohort does not have them any more, so that their group is not known.
            steps_of.setdefault((subject, ""), []).append("everything")
    lists = {"networks": comparison.left_out, "tests": {} if tests is None else tests.left_out}
    for step, groups in lists.items():
        for group, ids in groups.items():
            for subject in ids:
                steps_of.setdefault((str(subject), group), []).append(step)
    rows = [(*who, " and ".join(steps)) for who, steps in steps_of.items()]
    # Without columns no file is written: see `_write_found`.
    return pd.DataFrame(rows, columns=["subject", "group", "left_out_of"] if rows else None)
