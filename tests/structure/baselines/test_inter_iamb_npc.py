import numpy as np

from sgbn.paper.markov import IAMBnPC, InterIAMB, InterIAMBnPC


def test_it_takes_the_growth_of_one_parent_and_the_shrinking_of_the_other():
    assert InterIAMBnPC._blanket is InterIAMB._blanket
    assert InterIAMBnPC._shrink is IAMBnPC._shrink


def test_it_is_neither_of_them(simulate):
    samples = [simulate(20, 100, [52, seed])[0] for seed in range(10)]
    for other in (InterIAMB, IAMBnPC):
        assert any(
            not np.array_equal(InterIAMBnPC().fit(X).blankets_, other().fit(X).blankets_)
            for X in samples
        )
