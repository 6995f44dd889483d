"""Hide the names of subjects in a report that is passed on.

The CSV files beside the report keep the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.summary import Statement

WITHHELD = "withheld]"
ONE, SEVERAL = f"[name {WITHHELD}", f"[names {WITHHELD}"
# A name with a letter and a digit, or a long number. Other names, such as a word or a small number,
# may be in a sentence for another reason.
UNMISTAKABLE = re.compile(r"(?=.*[^\W\d_])(?=.*\d).{3,}|\d{5,}", re.DOTALL)


class Veil:
    """A filter that removes names of subjects from texts, unless they may be shown.

    A name is removed if it is in quotes, if another name is beside it ("12 and 13"), or if it is
    neither a word nor a small number. So a sentence that counts 12 subjects stays as it is, even if
    a subject has the name 12.

    Parameters
    ----------
    comparison : Comparison
        The results, with all names of subjects.
    lifted : bool
        Whether names may be shown.
    """

    def __init__(self, comparison: Comparison, *, lifted: bool = False) -> None:
        self.lifted = lifted
        cohort = comparison.cohort
        known = [cohort.ids, cohort.person, cohort.pair]
        known += [finding.left_out for finding in comparison.review.findings]
        names = {str(name) for labels in known if labels is not None for name in labels}
        # Messages write names with `repr`, which escapes some letters.
        self._names = _pattern(names | {repr(name)[1:-1] for name in names})

    def text(self, text: str) -> str:
        """Return the text without names."""
        if self.lifted:
            return text
        return self._names.sub(_withheld, text)

    def statements(self, statements: Iterable[Statement]) -> list[Statement]:
        """Return the statements without names."""
        return [
            Statement(answer.question, [*map(self.text, answer.lines)]) for answer in statements
        ]

    def findings(self, comparison: Comparison) -> pd.DataFrame:
        """Return level, what and action of each finding of the review, without names."""
        rows = [
            (finding.level, self.text(finding.what), self.text(finding.action))
            for finding in comparison.review.findings
        ]
        return pd.DataFrame(rows, columns=["level", "what", "action"])


def _pattern(names: set[str]) -> re.Pattern[str]:
    """Return the pattern of names in quotes, of several names, and of unmistakable names."""
    # The longest first, because a pattern takes the first name that fits: "s10", not "s1".
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    # "(?!)" never matches. An empty alternation would match everywhere.
    any_name, clear = (
        f"(?:{'|'.join(map(re.escape, chosen)) or '(?!)'})"
        for chosen in (longest_first, [*filter(UNMISTAKABLE.fullmatch, longest_first)])
    )
    # A dot or dash can be part of a longer word or number: 1.12 and sub-12 do not name subject 12.
    begin, end = r"(?<![\w.-])", r"(?![\w-])"
    bare = begin + any_name + end
    quoted = rf"['\"]{any_name}(?: and {any_name})*['\"]"
    return re.compile(
        rf"{quoted}(?:, {quoted})*|{bare}(?:(?:, | and |; ){bare})+|{begin}{clear}{end}"
    )


def _withheld(names: re.Match[str]) -> str:
    return SEVERAL if re.search(r", | and |; ", names[0]) else ONE


def left_out_table(comparison: Comparison) -> pd.DataFrame:
    """Return one row per subject that a step left out.

    If no subject was left out, the table has no columns.
    """
    tests = comparison.tests
    steps_of: dict[tuple[str, str], list[str]] = {}  # subject and group -> steps without it
    for finding in comparison.review.findings:
        for subject in finding.left_out:
            # The review removed them from the cohort, so their group is not known here.
            steps_of.setdefault((subject, ""), []).append("everything")
    lists = {"networks": comparison.left_out, "tests": {} if tests is None else tests.left_out}
    for step, groups in lists.items():
        for group, ids in groups.items():
            for subject in ids:
                steps_of.setdefault((str(subject), group), []).append(step)
    rows = [(*who, " and ".join(steps)) for who, steps in steps_of.items()]
    # `_write_found` writes no file for a table without columns.
    return pd.DataFrame(rows, columns=["subject", "group", "left_out_of"] if rows else None)
