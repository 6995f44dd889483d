"""Decorators that compile the numerical kernels, and the cache of machine code on disk.

A kernel is a function that numba compiles. Compilation takes most of the time of the first run
after an installation. So there are three decorators for kernels, and each kernel uses the cheapest
that it can (`benchmarks/compile.py` measures the cost of each kernel):

- `jit_inside`: for kernels that only other kernels call, and that make no arrays (most kernels).
- `jit_loops`: for kernels that Python calls, and that make no arrays.
- `jit`: for all other kernels.

The machine code is kept beside the source. If that folder is read-only, the machine code is kept in
the user's cache folder.
"""

from __future__ import annotations

import os
import time
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

from sgbn.core.problems import Problem

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = "sgbn-compile.lock"  # file in the cache folder; the process that compiles locks it
WAIT_SECONDS = 120.0  # longest wait for another process; a whole demo compiles in less time
LOOK_SECONDS = 0.05  # pause between two attempts to lock the file

_kernels: list[Any] = []  # all kernels of this process, for `cache_use`


def jit(kernel: Callable[..., Any]) -> Any:
    """Compile `kernel` at its first call, and keep the machine code on disk."""
    return _dispatcher(Kernel, kernel, _nrt=True)


def jit_loops(kernel: Callable[..., Any]) -> Any:
    """Compile a kernel that makes no arrays and only loops over its arguments.

    The kernel is compiled without numba's reference counts. In a kernel with many arrays they are a
    third of the code. The kernel may use parts of arrays, ``a[i]``. It must neither return an array
    nor call a function that returns one. ``tests/core/test_jit.py`` checks this for all kernels.
    """
    return _dispatcher(Kernel, kernel, _nrt=False)


def jit_inside(kernel: Callable[..., Any]) -> Any:
    """Compile a kernel as `jit_loops` does, for use in other kernels only."""
    return _dispatcher(InsideKernel, kernel, _nrt=False, no_cpython_wrapper=True)


def jit_generator(generator: Callable[..., Any]) -> Any:
    """Compile `generator` for use in other kernels, which cache it as a part of their own code."""
    # numba cannot use a generator from the cache in a kernel that is not from the cache.
    return numba.njit(generator)


def _dispatcher(kind: type[Kernel], kernel: Callable[..., Any], **options: bool) -> Any:
    if getattr(config, "DISABLE_JIT", False):  # a debugger needs the Python function
        return kernel
    shared = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True}
    dispatcher = kind(kernel, targetoptions=shared | options)
    _kernels.append(dispatcher)
    return dispatcher


class CacheUse(NamedTuple):
    """The numbers of kernels that this process compiled and loaded, and the cache folder.

    The folder is None if there is no cache.
    """

    n_compiled: int
    n_loaded: int
    folder: str | None


def cache_use() -> CacheUse:
    """Return how many kernels this process compiled and loaded, and the cache folder."""
    used = [kernel.stats for kernel in _kernels if kernel.signatures]
    folders = {stats.cache_path for stats in used} - {None}
    return CacheUse(
        sum(sum(stats.cache_misses.values()) for stats in used),
        sum(sum(stats.cache_hits.values()) for stats in used),
        os.path.commonpath(folders) if folders else None,
    )


class Kernel(CPUDispatcher):
    """A compiled function that looks for its cache at the first call, not when it is defined."""

    _cache: Any

    def compile(self, sig: Any) -> Any:
        """Return the machine code for a signature: from memory, from disk, or newly compiled."""
        # Workers that start together need the same kernels. One worker compiles. The others wait,
        # and then load the machine code from the cache.
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
    """A kernel without the wrapper for calls from Python. The wrapper may be most of the code."""

    def __call__(self, *arguments: Any) -> Any:
        """Compile the kernel again with the wrapper, in memory, and call it (for tests)."""
        return self._for_python(*arguments)

    @cached_property
    def _for_python(self) -> Any:
        options = self.targetoptions | {"no_cpython_wrapper": False}
        return CPUDispatcher(self.py_func, targetoptions=options)


class KernelCache(FunctionCache):
    """numba's cache, but a change of kernels or constants in other files also makes it invalid."""

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Return whether the cache contains the machine code for a signature."""
        target_context.refresh()
        return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), compiled_in(self._py_func))


@cache
def compiled_in(kernel: FunctionType) -> str:
    """Return a hash of the source files of a kernel and its callees, and of their constants."""
    # numba's own index only knows the file of the kernel. Constants may come from other files,
    # and numba writes their values into the machine code.
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
    # Functions and comprehensions inside a function are constants of its code.
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


@cache
def _hash_of_file(path: str) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()


def _cache_of(kernel: Callable[..., Any]) -> Any:
    """Return the cache of a kernel. Warn once and do not cache if no folder is writable.

    The first writable folder is used: NUMBA_CACHE_DIR, then the folder of the source, then numba's
    folder in the user's cache folder.
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
    Problem("kernels.no-cache").warn(
        "numba has no writable folder, so that each process compiles the kernels again",
        "Set NUMBA_CACHE_DIR to a writable folder.",
        UserWarning,
    )


@cache
def _warn_not_writable(folder: str) -> None:
    Problem("kernels.cache-folder", folder=folder).warn(
        "NUMBA_CACHE_DIR is {folder}, where this process cannot write",
        "Make the folder writable.",
        UserWarning,
    )


# Folders whose lock this process holds. A kernel compiles its callees: they need no second lock.
_compiling: list[Path] = []


@contextmanager
def _only_compiler(folder: Path) -> Iterator[None]:
    """Let only one process at a time compile for this cache folder.

    Each process compiles on its own if files cannot be locked (on Windows, on some network disks),
    or after a wait of `WAIT_SECONDS`.
    """
    if _compiling or fcntl is None:
        yield
        return
    try:
        stream = (folder / LOCK).open("ab")
    except OSError:  # the file belongs to another user, or the disk is full
        yield
        return
    with stream:
        _lock(stream)
        _compiling.append(folder)
        try:
            yield
        finally:
            _compiling.pop()
            # Closing is not enough: a child process that just started may still hold the file.
            fcntl.flock(stream, fcntl.LOCK_UN)


def _lock(stream: Any) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOOK_SECONDS)
        except OSError:  # this disk has no locks: compile without one
            return
        else:
            return
