"""How to read the columns of the tables."""

HINTS = {
    "found": (
        "Whether the edge differs between the groups at the level of this report: “family-wise” "
        "if the p corrected for all tested edges is at most that, “by q” if q is"
    ),
    "difference": "Last group less the reference",
    "difference_std": (
        "Weight in the last group less that in the reference, per standard deviation of both "
        "regions: comparable between edges"
    ),
    "statistic": (
        "Change over its standard error; of more than two groups, how far apart all of them are"
    ),
    "p": "Of this edge alone: only for an edge that was named beforehand",
    "p_fwer": "Corrected for all that this table tests: the chance that one or more are false",
    "q": "Share of false findings to expect among this edge and all that are surer",
    "error": "Of the family-wise p, from the number of permutations",
    "direction": (
        "“compelled”: the data decide the arrow, if the edges around it are right; “reversible”: "
        "it could as well point the other way; “prior knowledge”: it was given"
    ),
    "strength": "By how much the statistics of the set exceed the threshold, added up",
    "weight": "In the units of the data",
    "weight_std": "Per standard deviation of both regions: comparable between edges",
    "adjacent": (
        "Share of half samples whose network joins the two regions: a frequency, no probability of "
        "being true"
    ),
    "this_way": "Of the half samples that join the two, the share with this direction",
    "sign": "Of the half samples that join the two, the share with this sign of the weight",
    "true_weight_std": "As simulated, per standard deviation; 0 is no edge",
    "true_change": "Whether the simulation gave the groups different weights here",
    "predicted": "By networks that were learned without this subject",
    "because": (
        "Largest parts of the log-likelihood ratio of the likeliest group over the next: a "
        "positive part speaks for the likeliest, a negative one against it"
    ),
    "deviation_p": "How often a subject of the reference group is as far from its network",
    "farthest_z": "How far the region is from what its parents predict, in standard deviations",
    "before": "Weight per standard deviation",
}
