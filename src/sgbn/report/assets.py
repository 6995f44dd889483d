"""Read the files that the page is made of: our templates, and JavaScript of other packages."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.metadata import distributions
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sgbn.core.exceptions import InputError

TEMPLATES = "templates"
# Matches only where a statement can begin: "export" may also be part of a name or a text.
EXPORT = re.compile(r"(?:^|(?<=[;}\n]))export\s*\{([^{}]*)\}\s*;?")
MIN_PLOTLY_LENGTH = 1_000_000  # characters; the whole library has 4.8 million


@cache
def plotly_script() -> str:
    """Read the script of Plotly, which defines ``Plotly``."""
    source = _read("plotly", "package_data", "plotly.min.js")
    if len(source) < MIN_PLOTLY_LENGTH or "Plotly" not in source:
        raise InputError(_changed("plotly", "plotly.min.js is not the whole library"))
    return safe_script(source)


@cache
def tables_script() -> str:
    """Read DataTables with its buttons, as a classic script that defines ``DataTable``."""
    return safe_script(as_classic_script(_read("itables", "html", "dt_bundle.js")))


@cache
def tables_style() -> str:
    """Read the style sheet of DataTables; raise InputError if it would load other files."""
    style = _read("itables", "html", "dt_bundle.css")
    # A page that loads nothing works offline, and no server learns that somebody reads it.
    loaded = [url for url in re.findall(r"url\(\s*['\"]?([^)]*)", style) if url[:5] != "data:"]
    if loaded or "@import" in style:
        raise InputError(_changed("itables", "dt_bundle.css loads other files"))
    if "</style" in style.lower():
        raise InputError(_changed("itables", "dt_bundle.css ends its own style element"))
    return style


def own_file(name: str) -> str:
    """Return the text of a template, script or style sheet of this package."""
    return files("sgbn.report").joinpath(TEMPLATES, name).read_text(encoding="utf-8")


def own_table(name: str) -> dict[str, dict[str, Any]]:
    """Return the sections of a TOML file of this package."""
    return tomllib.loads(files("sgbn.report").joinpath(name).read_text(encoding="utf-8"))


def own_templates(*, autoescape: bool) -> Environment:
    """Return the Jinja environment of our templates; `autoescape` is for HTML templates."""
    return Environment(
        loader=PackageLoader("sgbn.report", TEMPLATES),
        autoescape=autoescape,
        # A misspelled name in a template raises an error instead of giving an empty text.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def as_classic_script(module: str) -> str:
    """Turn the ES module of DataTables into a classic script.

    A browser can import a module only from an address, and a module inside the page has no address.
    So the only export statement becomes an assignment to ``window.DataTable``, and a function
    encloses the whole module.
    """
    exports = EXPORT.findall(module)
    if len(exports) != 1:
        raise InputError(_changed("itables", f"dt_bundle.js has {len(exports)} export statements"))
    names = dict(_exported(entry) for entry in exports[0].split(",") if entry.strip())
    if "default" not in names:
        raise InputError(_changed("itables", "dt_bundle.js has no default export"))
    # The replacement is a function, because re.sub would interpret a backslash in a text.
    body = EXPORT.sub(lambda _: f";window.DataTable={names['default']};", module)
    if re.search(r"(?:^|[;}\n])\s*(?:import\s*[\w{*\"']|export\s)|import\.meta", body):
        raise InputError(
            _changed("itables", "dt_bundle.js imports other files, which a report cannot do")
        )
    # Modules are always strict. Without the line break, a comment at the end of the module would
    # make the closing brackets part of the comment.
    return f'(function(){{"use strict";{body}\n}})();'


def safe_script(source: str) -> str:
    """Escape a script so that no text in it can end the script element around it."""
    # JavaScript reads \x3C as "<", in texts and in patterns; HTML does not.
    return re.sub(r"<(?=/script|!--)", r"\\x3C", source, flags=re.IGNORECASE)


def _exported(entry: str) -> tuple[str, str]:
    """Split ``inside as outside`` into the exported name and the name inside the module."""
    inside, _, outside = entry.strip().partition(" as ")
    return (outside or inside).strip(), inside.strip()


def _read(package: str, *parts: str) -> str:
    # The package is found, not imported: itables 2.5.0 does not import without platformdirs, which
    # it does not install, and its imports take longer than the file.
    spec = find_spec(package)
    try:
        if spec is None or spec.origin is None:
            raise FileNotFoundError(package)
        return Path(spec.origin).parent.joinpath(*parts).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(_changed(package, f"{'/'.join(parts)} cannot be read")) from error


def _changed(package: str, what: str) -> str:
    installed = [f"{package} {library.version}" for library in distributions(name=package)]
    source = next(iter(installed), package)
    return (
        f"the report needs JavaScript from {source}, but {what}. Install {package} again: "
        f"pip install --force-reinstall '{package}'. If that does not help, install "
        f"another version of {package}."
    )
