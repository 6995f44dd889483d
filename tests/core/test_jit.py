import ast
import gc
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import sgbn
from sgbn.core import graph
from sgbn.core.jit import Kernel, cache_use, compiled_in, jit_inside, jit_loops
from sgbn.inference import influence, joint
from sgbn.inference.differences import edge_differences
from sgbn.learn import lasso
from sgbn.learn.search import orders, trees
from sgbn.learn.sgbn import SGBN
from sgbn.paper import h_sgbn, l1mb, markov, or_sgbn
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.l1mb import L1MB
from sgbn.paper.markov import IAMB
from sgbn.paper.or_sgbn import ORSGBN


def kernels():
    modules = graph, influence, joint, lasso, or_sgbn, l1mb, h_sgbn, orders, trees, markov
    for module in modules:
        for name, function in vars(module).items():
            if hasattr(function, "signatures") and function.__module__ == module.__name__:
                yield f"{module.__name__}.{name}", function


def test_every_kernel_is_compiled_for_one_signature_only(simulate):
    X, _ = simulate(8, 60, 0)
    frozen = np.asfortranarray(X)
    frozen.setflags(write=False)
    for values in (X, frozen, X.astype(np.float32), X.tolist()):
        learners = (ORSGBN(), ORSGBN(path="literal", init="l1mb"), HSGBN(), SGBN(), IAMB(), L1MB())
        for learner in learners:
            learner.fit(values)
        edge_differences(values, np.arange(60) % 2, n_permutations=19)
    counts = {name: len(kernel.signatures) for name, kernel in kernels()}
    assert {name: n for name, n in counts.items() if n > 1} == {}
    assert any(counts.values())


def every_kernel():
    for module in pkgutil.walk_packages(sgbn.__path__, "sgbn."):
        if not module.name.startswith(("sgbn.cli", "sgbn.__main__")):
            for function in vars(importlib.import_module(module.name)).values():
                if isinstance(function, Kernel) and function.__module__ == module.name:
                    yield function


SCALAR = {"arctanh", "exp", "inf", "isfinite", "isnan", "log", "log1p", "nan", "sign", "sqrt"}
TYPES = {"bool_", "float64", "int64", "uint64"}


def gives_an_array(node):
    """Whether a node of a kernel may be a function of numpy, or a method, that gives an array."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np":
        return node.attr not in SCALAR | TYPES
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value) != "np"
    return isinstance(node, ast.MatMult)


def test_kernels_without_reference_counts_call_nothing_that_gives_arrays():
    wrong = {}
    for kernel in every_kernel():
        if not kernel.targetoptions["_nrt"]:
            tree = ast.parse(inspect.getsource(kernel.py_func))
            found = [ast.unparse(node) for node in ast.walk(tree) if gives_an_array(node)]
            wrong |= {kernel.py_func.__qualname__: found} if found else {}
    assert wrong == {}


def test_arrays_that_kernels_make_are_freed(simulate):
    X, _ = simulate(8, 60, 0)
    classes = np.arange(60) % 2
    learners = (ORSGBN(), HSGBN(), SGBN(), IAMB(), L1MB())

    def learn():
        for learner in learners:
            learner.fit(X)
        edge_differences(X, classes, n_permutations=19)

    _nrt_python.memsys_enable_stats()
    learn()
    gc.collect()
    before = rtsys.get_allocation_stats()
    learn()
    gc.collect()
    after = rtsys.get_allocation_stats()
    assert after.alloc > before.alloc
    assert after.alloc - before.alloc == after.free - before.free
    _nrt_python.memsys_disable_stats()


def test_a_kernel_for_kernels_can_also_be_called_from_python():
    @jit_inside
    def double(x):
        return 2.0 * x

    @jit_loops
    def quadruple(x):
        return double(double(x))

    assert quadruple(1.0) == 4.0
    assert double(1.0) == 2.0
    assert quadruple(2.0) == 8.0


def test_kernels_in_use_are_counted():
    @jit_loops
    def triple(x):
        return 3.0 * x

    before = cache_use()
    triple(1.0)
    triple(2.0)
    after = cache_use()
    assert after.n_compiled + after.n_loaded == before.n_compiled + before.n_loaded + 1
    assert os.path.isdir(after.folder)


OUTER = """
from inner import add
from sgbn.core.jit import jit_loops

@jit_loops
def outer(x):
    return add(x)
"""
INNER = """
from sgbn.core.jit import jit_inside

@jit_inside
def add(x):
    return x + 1.0{more}
"""
PROGRAM = """
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    from outer import outer
    answer = outer(1.0)
folder = outer.stats.cache_path
n_compiled = sum(outer.stats.cache_misses.values())
print(answer, folder, n_compiled, sum("NUMBA_CACHE_DIR" in str(w.message) for w in seen))
"""


@pytest.fixture
def package(tmp_path):
    """Folder with two kernels in two files."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "outer.py").write_text(OUTER)
    (folder / "inner.py").write_text(INNER.format(more=""))
    return folder


def start(package, **environment):
    """Start a process that calls a kernel of `package`."""
    system = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    path = os.pathsep.join([str(package), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-B", "-c", PROGRAM],
        stdout=subprocess.PIPE,
        text=True,
        env=system | {"PYTHONPATH": path} | environment,
    )


def answer_of(process):
    """What it printed: answer, folder of the cache, number of compilations and of warnings."""
    answer, folder, n_compiled, n_warnings = process.communicate()[0].split()
    return float(answer), folder, int(n_compiled), int(n_warnings)


def make_read_only(package):
    (package / "__pycache__").write_text("a file, so that nobody, not even root, can write here")


def test_processes_share_machine_code_until_a_kernel_of_another_file_changes(package):
    together = [start(package) for _ in range(2)]
    answers = sorted(answer_of(process) for process in together)
    folder = str(package / "__pycache__")
    expected = [(2.0, folder, 0, 0), (2.0, folder, 1, 0)]  # one compiles, and the other one waits
    assert answers == expected or sys.platform == "win32"  # files are not locked there
    (package / "inner.py").write_text(INNER.format(more=" + 3.0"))
    assert answer_of(start(package))[::2] == (5.0, 1)


def test_a_constant_is_a_part_of_the_machine_code():
    code = (lambda x: x + STEP).__code__  # noqa: F821
    first, same, other = (FunctionType(code, {"STEP": step}) for step in (1.0, 1.0, 2.0))
    assert compiled_in(first) == compiled_in(same) != compiled_in(other)


def test_where_the_package_is_read_only_it_is_kept_in_the_home_folder(package, tmp_path):
    make_read_only(package)
    answer, folder, n_compiled, n_warnings = answer_of(start(package, HOME=str(tmp_path)))
    assert (answer, n_compiled, n_warnings) == (2.0, 1, 0)
    assert folder.startswith(str(tmp_path / ".cache"))
    assert list(Path(folder).glob("outer.*.nbc"))


def test_where_nothing_is_writable_kernels_are_compiled_after_one_warning(package):
    make_read_only(package)
    assert answer_of(start(package, HOME=os.devnull)) == (2.0, "None", 1, 1)


def test_a_cache_that_was_asked_for_and_cannot_be_used_is_named_once(package, tmp_path):
    (tmp_path / "taken").write_text("a file, in which no folder can be made")
    asked = str(tmp_path / "taken" / "cache")
    answer, folder, _, n_warnings = answer_of(start(package, NUMBA_CACHE_DIR=asked))
    assert (answer, folder, n_warnings) == (2.0, str(package / "__pycache__"), 1)
