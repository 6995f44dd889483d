from pathlib import Path

import sgbn
from sgbn.core import types

SOURCES = sorted(Path(sgbn.__file__).parent.rglob("*.py"))


def test_names_of_arrays_are_given_once():
    names = [name for name in vars(types) if name[0].isupper() and name != "NDArray"]
    lines = [f"{name} = NDArray[" for name in names]
    own = [path for path in SOURCES if path.name != "types.py"]
    for path in own:
        text = path.read_text()
        assert not any(line in text for line in lines), path
