"""sgbn: one directed network per group from continuous data.

The public names are listed in ``__init__.pyi``. They load on first use, so that ``import sgbn``
is fast.
"""

import lazy_loader

__version__ = "0.2.0"
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__:
        return _load(name)
    from sgbn.core.problems import did_you_mean

    # Python and notebooks ask for private names on their own: a suggestion would only confuse.
    near = "" if name.startswith("_") else f". {did_you_mean(name, __all__)}"
    raise AttributeError(f"module 'sgbn' has no attribute {name!r}{near}")
