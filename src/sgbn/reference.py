"""Which group the others are compared with, where nobody names one.

The first group by alphabet is often that of the patients (AD, ASD). Signs of differences would be
turned round, and patients would be the norm that deviations are measured from. So a group whose
name looks like controls goes first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sgbn.exceptions import InputError, did_you_mean, shown

# Words of a name, in lower case. One of NORM or SHORT must be there, and no word that is in none of
# the three: "normal pressure hydrocephalus" and "impulse control disorder" are names of patients.
NORM = (
    r"controls?|ctrls?|ctls?|ctr|healthy|health|normals?|normative|norm|typical(?:ly)?|"
    r"neurotypicals?|unaffected|unimpaired"
)
SHORT = r"cons?|hcs?|hvs?|ncs?|cns?|tds?|tdcs?|tcs?|cu|nl|nt"  # only as words of their own
BESIDE = (
    r"groups?|grp|subjects?|participants?|volunteers?|persons?|people|individuals?|adults?|"
    r"children|young|older|old|elderly|ageing|aging|males?|females?|men|women|age|sex|matched|"
    r"cognitively|cognition|developing|development|comparison|brains?"
)
_WORD = re.compile(rf"(?:{NORM}|{BESIDE})+\d*|(?:{SHORT})\d*|\d+")
_NORM = re.compile(rf"(?:{BESIDE})*(?:{NORM})(?:{NORM}|{BESIDE})*\d*|(?:{SHORT})\d*")


def looks_like_controls(name: str) -> bool:
    """Return whether a group's name says that it is the norm: "HC", "healthy controls"."""
    # HealthyControls is two words
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    words = [word for word in re.split(r"[\W_]+", spaced.lower()) if word]
    return all(map(_WORD.fullmatch, words)) and any(map(_NORM.fullmatch, words))


def control_groups(groups: Sequence[str]) -> list[str]:
    """Return the groups whose names look like controls.

    If all names are numbers, the group 0 is one of them.
    """
    names = sorted(map(str, groups))
    controls = [name for name in names if looks_like_controls(name)]
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return controls
    # "0" and "0.0" would be two groups of which neither is the norm.
    if numbers.count(0.0) == 1:
        controls.append(names[numbers.index(0.0)])
    return controls


def usual_reference(groups: Sequence[str]) -> str:
    """Return the group that is the reference unless another one is named.

    Parameters
    ----------
    groups : sequence of str
        Names of one or more groups.

    Returns
    -------
    str
        The first by name of those that look like controls (control, CTR, HC, CN, TD, healthy, 0
        beside 1, ...); if there are none, the first by name of all.
    """
    return (control_groups(groups) or sorted(map(str, groups)))[0]


def choose_reference(groups: Sequence[str], reference: str | None = None) -> str:
    """Return the reference that was named, which must be one of the groups, else the usual one."""
    if reference is None:
        return usual_reference(groups)
    if str(reference) not in map(str, groups):
        near = did_you_mean(reference, groups)
        raise InputError(f"no group is called {reference!r} (the reference, --reference). {near}")
    return str(reference)


def why_reference(groups: Sequence[str], reference: str | None = None) -> str:
    """Return a few words on why `choose_reference` takes the group that it does."""
    if reference is not None:
        return "as you named it"
    alike = control_groups(groups)
    if not alike:
        return "the first by name: no group is called like controls"
    if len(alike) > 1:
        return f"the first by name of {' and '.join(map(shown, alike))}, which look like controls"
    return "its name says that it is the norm"
