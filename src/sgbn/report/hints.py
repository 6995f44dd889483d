"""How to read the columns of the tables."""

HINTS = {
    "found": (
        "Whether the pair differs between the groups at the level of this report: “both ways” if "
        "it does whichever way the arrow is read (q, both ways), “family-wise” if that p is small "
        "enough too, “one way only” if it does only as the arrow is written: that may be a change "
        "of variance. Search for these words to see one kind"
    ),
    "change_interval": (
        "Weight in the last group less that in the reference, per standard deviation of both "
        "regions, with its interval by the standard error. The interval is of this edge by itself: "
        "it is not corrected for the number of edges"
    ),
    "statistic": (
        "Change over its standard error (HC3, which allows for unequal noise); of more than two "
        "groups, how far apart all of them are"
    ),
    "p": (
        "Of this edge alone, corrected for nothing: share of all edges of all permutations that "
        "look as different, among edges that were chosen alike. For an edge that was named "
        "beforehand give --edges instead"
    ),
    "p_both": (
        "Largest p of the two directions and the partial correlation, each given the parents of "
        "either region. Small only if the pair differs whichever way the arrow is read"
    ),
    "p_fwer": (
        "Share of the permutations, the data counted as one, in which the surest of all that this "
        "table tests is as sure as the one here"
    ),
    "p_fwer_both": (
        "As the family-wise p, over both directions and the partial correlation of all pairs; the "
        "largest of the three. A change of variance alone rarely makes it small"
    ),
    "q": "Share of false findings to expect among this edge and all that are surer",
    "q_both": (
        "The same for differences that hold both ways. A change of variance alone rarely makes it "
        "small"
    ),
    "error": "Of the family-wise p, from the number of permutations",
    "supported": (
        "Whether enough networks of half samples join the two, and enough of these have this "
        "direction (the methods say how many). Only such an edge is drawn as an arrow; of the "
        "others, from and to are those of one graph"
    ),
    "graph_direction": (
        "A property of this one graph, and no verdict. “compelled”: all graphs that fit exactly as "
        "well have the arrow; “reversible”: some have it the other way; “prior knowledge”: it was "
        "given; “non-Gaussian”: the shape of residuals speaks for it, if relations are straight"
    ),
    "low": (
        "Ends of a 95 % interval of the weight by the spread over half samples, as if the graph "
        "had been known beforehand"
    ),
    "strength": "By how much the statistics of the set exceed the threshold, added up",
    "weight": "In the units of the data",
    "weight_std": "Per standard deviation of both regions: comparable between edges",
    "adjacent": (
        "Share of half samples whose network joins the two regions: a frequency, no probability of "
        "being true"
    ),
    "this_way": "Of the half samples that join the two, the share with this direction",
    "support_share": "Share of the subjects whose own time series speak for the edge, by its score",
    "survives": (
        "Whether the edge stays in the network without the tenth of the subjects that support it "
        "most: one that does not may rest on a few"
    ),
    "beside_factors": (
        "Whether the weight, refitted with the leading hidden factors beside the parents, keeps "
        "its sign and an interval (99 %) that does not reach 0. One that goes may be the shadow of "
        "a common cause; one that stays is no proof"
    ),
    "log_likelihood": (
        "Of subjects that were not seen in training, per region; independent regions have about "
        "−1.42, and more is better"
    ),
    "standard_error": (
        "Of the difference, from the folds. Training parts overlap: it is widened for that"
    ),
    "true_weight_std": "As simulated, per standard deviation; 0 is no edge",
    "true_change": "Whether the simulation gave the groups different weights here",
    "predicted": "By networks that were learned without this subject",
    "because": (
        "Largest parts of the log-likelihood ratio of the likeliest group over the next, in the "
        "first repeat: a positive part speaks for the predicted group, a negative one against it"
    ),
    "deviation_p": "How often a subject of the reference group is as far from its network",
    "farthest_z": "How far the region is from what its parents predict, in standard deviations",
    "before": "Weight per standard deviation",
}

# Columns whose meaning is another in each table
LIMITS_OF_SERIES = (
    "Ends of a 95 % interval of the mean weight by its spread over the subjects, as if the graph "
    "had been known beforehand"
)
BECAUSE_OF_SERIES = (
    "Largest parts of the log odds of the likeliest group over the next, in the first repeat: a "
    "positive part speaks for the predicted group, a negative one against it"
)
SUPPORTED_IN_A_GROUP = (
    "Whether the network of one of the groups has this edge with a direction that its half samples "
    "support. Only such an edge is drawn as an arrow"
)
ERROR_OF_CHANGE = "Of the change per SD (HC3: noise may differ between subjects and groups)"
INTERVAL_OF_CHANGE = (
    "Ends of an interval of the change per SD, of this edge by itself: of many edges, some "
    "intervals miss the true change. The edge was chosen by the same data, so that a large change "
    "tends to be too large"
)
P_OF_NAMED = "Of this edge alone, from its own permutations: it needs no correction for others"
FAMILY_OF_NAMED = "Corrected for all edges that were named beforehand, and for no others"
FAMILY_OF_AMONG = "Corrected for the edges of this table, and for no others"
CHANGE_PER_SD = (
    "Weight in the last group less that in the reference, per standard deviation of both regions: "
    "comparable between edges"
)
CHANGE_OF_OTHER = "Weight in the other group less that in the group, per standard deviation"
CHANGE = "Weight in the last group less that in the reference, in the units of the data"
CHANGE_FROM_REFERENCE = (
    "Weight in that group less that in the reference, per standard deviation of both regions; p "
    "and q are of any difference among all groups"
)
CHANGE_OF_SUM = (
    "Sum of the sizes of weights per standard deviation (or number of edges) in the last group "
    "less that in the reference. It describes only: z is what is tested"
)
RANGE_OF_SUM = (
    "Range over the groups of the sum of the sizes of weights per standard deviation (or of the "
    "number of edges). It describes only: z is what is tested"
)
CHANGE_BY_REFINEMENT = "Weight after the refinement less that before"
KIND = (
    "What becomes of the relation from the reference to the other group: gained, lost (its weight "
    "per SD is below 0.1 before, or after), stronger, weaker (in size), or sign changed. A "
    "dash where no difference is found; the CSV file describes those, too"
)
KINDS_OF_SET = "How many edges of the set are gained, lost, stronger, weaker, or changed their sign"
EDGES_AGAIN = "Share of the edges of one half of the subjects that the other half joins too"
ARROWS_AGAIN = (
    "Share of the arrows of one half (edges of one direction in at least nine tenths of its "
    "networks that join the two) that the other half joins with the same direction"
)
