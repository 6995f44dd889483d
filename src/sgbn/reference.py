"""Choose the reference: the group with which the other groups are compared.

The first group by alphabet is often a group of patients (AD, ASD). If patients were the reference,
all differences would have the opposite sign, and deviations would be measured from the patients.
So, if the user does not name a reference, a group whose name looks like controls is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sgbn.core.exceptions import InputError, did_you_mean, shown

# Words in the names of controls, in lower case. A name needs a word of NORM or SHORT, and all its
# words must be in one of these three lists. Otherwise "normal pressure hydrocephalus" and "impulse
# control disorder" would look like controls.
NORM = (
    r"controls?|ctrls?|ctls?|ctr|healthy|health|normals?|normative|norm|typical(?:ly)?|"
    r"neurotypicals?|unaffected|unimpaired"
)
SHORT = r"cons?|hcs?|hvs?|ncs?|cns?|tds?|tdcs?|tcs?|cu|nl|nt"  # never as a part of a longer word
BESIDE = (
    r"groups?|grp|subjects?|participants?|volunteers?|persons?|people|individuals?|adults?|"
    r"children|young|older|old|elderly|ageing|aging|males?|females?|men|women|age|sex|matched|"
    r"cognitively|cognition|developing|development|comparison|brains?"
)
_WORD = re.compile(rf"(?:{NORM}|{BESIDE})+\d*|(?:{SHORT})\d*|\d+")
_NORM = re.compile(rf"(?:{BESIDE})*(?:{NORM})(?:{NORM}|{BESIDE})*\d*|(?:{SHORT})\d*")


def looks_like_controls(name: str) -> bool:
    """Return whether the name of a group means controls, such as "HC" or "healthy controls"."""
    # "HealthyControls" is read as two words.
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    words = [word for word in re.split(r"[\W_]+", spaced.lower()) if word]
    return all(map(_WORD.fullmatch, words)) and any(map(_NORM.fullmatch, words))


def control_groups(groups: Sequence[str]) -> list[str]:
    """Return the groups whose names look like controls, sorted by name.

    If all names are numbers, the group 0 counts as controls, too.
    """
    names = sorted(map(str, groups))
    controls = [name for name in names if looks_like_controls(name)]
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return controls
    # If both "0" and "0.0" are groups, neither is known to be the controls.
    if numbers.count(0.0) == 1:
        controls.append(names[numbers.index(0.0)])
    return controls


def usual_reference(groups: Sequence[str]) -> str:
    """Return the group that is the reference if the user does not name one.

    Parameters
    ----------
    groups : sequence of str
        Names of one or more groups.

    Returns
    -------
    str
        The first group, by name, that looks like controls (control, CTR, HC, CN, TD, healthy, ...).
        If all names are numbers, the group 0 looks like controls. If no group looks like controls,
        the first of all groups by name.
    """
    return (control_groups(groups) or sorted(map(str, groups)))[0]


def choose_reference(groups: Sequence[str], reference: str | None = None) -> str:
    """Return `reference`, which must be a group. If it is None, return the usual reference."""
    if reference is None:
        return usual_reference(groups)
    if str(reference) not in map(str, groups):
        near = did_you_mean(reference, groups)
        raise InputError(
            f"no group is called {reference!r}, the name given as reference= (--reference). {near}"
        )
    return str(reference)


def why_reference(groups: Sequence[str], reference: str | None = None) -> str:
    """Return a few words that say why `choose_reference` chooses its group."""
    if reference is not None:
        return "as you named it"
    alike = control_groups(groups)
    if not alike:
        return "the first by name: no name looks like controls"
    if len(alike) > 1:
        return f"the first by name of {' and '.join(map(shown, alike))}, which look like controls"
    return "its name looks like controls"
