"""Order of the gallery: by theme, which is the first word of a file's name, then by name."""

from pathlib import Path

THEMES = ("data", "learn", "groups", "classify", "from", "run")


def by_theme(filename: str) -> tuple[int, str]:
    """Key of an example such as ``plot_data_csv.py``."""
    name = Path(filename).stem.removeprefix("plot_")
    return THEMES.index(name.split("_")[0]), name
