import numpy as np

from sgbn.structure.baselines import IAMBnPC, InterIAMB, InterIAMBnPC


def test_it_takes_the_growth_of_one_parent_and_the_shrinking_of_the_other():
    assert InterIAMBnPC._blanket is InterIAMB._blanket
    assert InterIAMBnPC._shrink is IAMBnPC._shrink


def test_it_is_neither_of_them(simulate):
    differ = np.zeros(2, int)
    for seed in range(10):
        X, _ = simulate(20, 100, [52, seed])
        found = InterIAMBnPC().fit(X).blankets_
        for k, other in enumerate((InterIAMB, IAMBnPC)):
            differ[k] += not np.array_equal(found, other().fit(X).blankets_)
    assert np.all(differ > 0)
