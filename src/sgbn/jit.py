"""The decorators under which every numerical kernel is compiled, and the cache on disk.

Compilation is most of the first run of a new installation. So there are three decorators, and a
kernel takes the cheapest that it can (`benchmarks/compile.py` has what each kernel costs):

- `jit_inside`: only other kernels call it, and it makes no arrays. Most kernels.
- `jit_loops`: Python calls it, and it makes no arrays.
- `jit`: all others.

Machine code is kept beside the source, or in the user's cache folder where that is read-only.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numba
from numba.core import config
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = "sgbn-compile.lock"  # in the folder of the cache; locked by the process that compiles
WAIT_SECONDS = 120.0  # for a process that compiles; a whole demo compiles for less
LOOK_SECONDS = 0.05  # between two looks whether it has ended

_kernels: list[Any] = []  # all of this process


def jit(kernel: Callable[..., Any]) -> Any:
    """Compile `kernel` at its first call, and keep the machine code on disk."""
    return _dispatcher(Kernel, kernel, _nrt=True)


def jit_loops(kernel: Callable[..., Any]) -> Any:
    """Compile a kernel that makes no arrays: it loops over those that it is given.

    It is compiled without numba's reference counts, which are a third of the code of a kernel that
    has many arrays. So it may take parts of arrays, ``a[i]``. It may neither return an array nor
    call what gives one; ``tests/test_jit.py`` holds all kernels to this.
    """
    return _dispatcher(Kernel, kernel, _nrt=False)


def jit_inside(kernel: Callable[..., Any]) -> Any:
    """Compile a kernel as `jit_loops` does, for other kernels; Python has to compile it again."""
    return _dispatcher(InsideKernel, kernel, _nrt=False, no_cpython_wrapper=True)


def jit_generator(generator: Callable[..., Any]) -> Any:
    """Compile `generator` for use in other kernels, which keep it in their own cache.

    numba cannot use a generator that comes from the cache in a kernel that does not.
    """
    return numba.njit(generator)


def _dispatcher(kind: type[Kernel], kernel: Callable[..., Any], **options: bool) -> Any:
    if getattr(config, "DISABLE_JIT", False):  # for a debugger
        return kernel
    shared = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True}
    dispatcher = kind(kernel, targetoptions=shared | options)
    _kernels.append(dispatcher)
    return dispatcher


class CacheUse(NamedTuple):
    """Kernels that this process compiled or loaded so far, and the folder of the machine code.

    The folder is None without a cache.
    """

    n_compiled: int
    n_loaded: int
    folder: str | None


def cache_use() -> CacheUse:
    """Return how many kernels this process compiled and loaded, and the folder of the cache."""
    used = [kernel.stats for kernel in _kernels if kernel.signatures]
    folders = {stats.cache_path for stats in used} - {None}
    return CacheUse(
        sum(sum(stats.cache_misses.values()) for stats in used),
        sum(sum(stats.cache_hits.values()) for stats in used),
        os.path.commonpath(folders) if folders else None,
    )


class Kernel(CPUDispatcher):
    """A compiled function whose cache is looked for at its first call, not when it is defined."""

    _cache: Any

    def compile(self, sig: Any) -> Any:
        """Return the machine code for a signature: from memory, from disk, or newly compiled."""
        # Workers that start together need the same kernels: all but one wait, and then load what
        # the one that compiled has kept.
        with global_compiler_lock:
            if tuple(normalize_signature(sig)[0]) in self.overloads:
                return super().compile(sig)
            if isinstance(self._cache, NullCache):
                self._cache = _cache_of(self.py_func)
            if self._cache.cache_path is None or self._cache.holds(sig, self.targetctx):
                return super().compile(sig)
            with _only_compiler(Path(self._cache.cache_path)):
                return super().compile(sig)


class InsideKernel(Kernel):
    """A kernel without the code that Python needs to call it, which may be most of its code."""

    def __call__(self, *arguments: Any) -> Any:
        """Compile it again, in memory and with that code, for a test or a debugger."""
        return self._for_python(*arguments)

    @cached_property
    def _for_python(self) -> Any:
        options = self.targetoptions | {"no_cpython_wrapper": False}
        return CPUDispatcher(self.py_func, targetoptions=options)


class KernelCache(FunctionCache):
    """numba's cache, which also notices when a kernel of another file has changed."""

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Return whether the disk has the machine code for a signature."""
        target_context.refresh()
        return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), compiled_in(self._py_func))


@cache
def compiled_in(kernel: FunctionType) -> str:
    """Return the hash of what a kernel is made of: sources of kernels it calls, and constants."""
    # numba's own index knows the file of the kernel alone. Constants may come from other files,
    # and are frozen in the machine code.
    files, constants, left, known = {__file__}, set(), [kernel], {kernel}
    while left:
        function = left.pop()
        files.add(function.__code__.co_filename)
        for name in _names_in(function.__code__):
            value = function.__globals__.get(name)
            if isinstance(value, bool | int | float):
                constants.add(f"{name}={value!r}")
            callee = getattr(value, "py_func", None)
            if callee is not None and callee not in known:
                known.add(callee)
                left.append(callee)
    stamps = [_hash_of_file(file) for file in files]
    return sha256("\n".join([*sorted(stamps), *sorted(constants)]).encode()).hexdigest()


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


@cache
def _hash_of_file(path: str) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()


def _cache_of(kernel: Callable[..., Any]) -> Any:
    """Return the cache of a kernel; none, after one warning, where no folder is writable.

    The folder is NUMBA_CACHE_DIR, that of the source, or numba's in the user's cache folder.
    """
    try:
        kernel_cache = KernelCache(kernel)
    except RuntimeError:
        _warn_no_cache()
        return NullCache()
    wanted = getattr(config, "CACHE_DIR", "")
    if wanted and not Path(kernel_cache.cache_path).is_relative_to(Path(wanted).absolute()):
        _warn_not_writable(wanted)
    return kernel_cache


@cache
def _warn_no_cache() -> None:
    warnings.warn(
        "sgbn found no writable folder for numba's cache, so that kernels are compiled anew in "
        "every process. Set NUMBA_CACHE_DIR to a writable folder to avoid this.",
        stacklevel=4,
    )


@cache
def _warn_not_writable(folder: str) -> None:
    warnings.warn(
        f"NUMBA_CACHE_DIR is {folder!r}, where this process cannot write, so that numba does not "
        "read it either and kernels are compiled again. Make the folder writable.",
        stacklevel=5,
    )


_compiling: list[Path] = []  # folders whose lock this process holds; kernels compile kernels


@contextmanager
def _only_compiler(folder: Path) -> Iterator[None]:
    """Context in which no other process that waits for the same folder compiles.

    Where files cannot be locked (on Windows, on some network disks) each process compiles for
    itself, and so it does after `WAIT_SECONDS`.
    """
    if _compiling or fcntl is None:
        yield
        return
    try:
        stream = (folder / LOCK).open("ab")
    except OSError:  # of another user, or on a full disk
        yield
        return
    with stream:
        _lock(stream)
        _compiling.append(folder)
        try:
            yield
        finally:
            _compiling.pop()
            # Closing is not enough: a process that is being started holds the file for a moment
            fcntl.flock(stream, fcntl.LOCK_UN)


def _lock(stream: Any) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOOK_SECONDS)
        except OSError:
            return
        else:
            return
