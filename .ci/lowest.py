"""The lowest versions that pyproject.toml allows its users, as constraints of pip.

python .ci/lowest.py > constraints.txt
"""

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = ("brain", "tables", "scale")  # those of users; tools of developers are as new as they are
BOUND = re.compile(r"([A-Za-z0-9._-]+)>=([0-9][0-9a-z.]*)")


def lowest(project):
    """Lines ``name==version`` of the dependencies in the table [project].

    Raises
    ------
    ValueError
        If a dependency has no lower bound, or more than one bound.
    """
    lines = []
    for extra in ("", *EXTRAS):
        wanted = project["optional-dependencies"][extra] if extra else project["dependencies"]
        for text in wanted:
            found = BOUND.fullmatch(text)
            if found is None:
                raise ValueError(f"pyproject.toml has {text!r}: write NAME>=VERSION.")
            lines.append(f"{found[1]}=={found[2]}")
    return lines


if __name__ == "__main__":
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    sys.stdout.write("\n".join(lowest(project)) + "\n")
