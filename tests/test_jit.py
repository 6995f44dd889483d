import os
import subprocess
import sys

import numpy as np

from sgbn import HSGBN, IAMB, L1MB, ORSGBN, SGBN
from sgbn.graph import acyclicity
from sgbn.search import order_search, parent_trees, tucks
from sgbn.solvers import lasso, order
from sgbn.structure import neighbourhood, or_sgbn, reachability
from sgbn.structure.baselines import partial_correlation


def kernels():
    for module in (
        acyclicity,
        lasso,
        order,
        neighbourhood,
        reachability,
        or_sgbn,
        order_search,
        parent_trees,
        partial_correlation,
        tucks,
    ):
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
    counts = {name: len(kernel.signatures) for name, kernel in kernels()}
    assert {name: n for name, n in counts.items() if n > 1} == {}
    assert any(counts.values())


def test_without_a_writable_cache_the_kernels_still_work_after_one_warning():
    program = (
        "import numba.core.caching as c; c.CacheImpl._locator_classes = []\n"
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    from sgbn.graph import levels\n"
        "    import sgbn.solvers.lasso\n"
        "assert levels([[0, 1], [0, 0]]).tolist() == [0, 1]\n"
        "print(sum('NUMBA_CACHE_DIR' in str(w.message) for w in seen))\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stdout.strip() == "1", done.stderr
