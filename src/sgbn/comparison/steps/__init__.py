"""The words of the steps of a comparison, and their sections of the page, by subject.

Networks, sensitivity, refinements, deviations and accuracy are computed here too. The functions of
`sgbn.comparison.step` call these computations, or those of `sgbn.inference`.
"""
