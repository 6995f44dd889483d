"""
Planning a sample size by simulation
====================================

How many subjects per group does a study need to find a change of an edge? If the network is learned
first, there is no formula. A simulation does what the study will do, many times.
"""

# %%
# One size
# --------
# ``effect`` is the change of a standardised weight. Two groups are drawn from random networks of
# six regions. One edge is weaker in the second group. Twenty simulations keep this example short,
# and the interval shows how little they say. Take 200 or more for a real plan.

import matplotlib.pyplot as plt
import numpy as np

from sgbn.inference.power import power, sample_size

options = {"network": 6, "n_permutations": 39, "n_simulations": 20}
one = power(0.8, 40, **options)
print(f"40 subjects per group: power {one.power:.2f} ({one.low:.2f} to {one.high:.2f})")

# %%
# The size for a power of 0.8
# ---------------------------
# ``sample_size`` tries sizes by doubling and bisection. ``low`` and ``high`` are the range that the
# simulations leave open.

needed = sample_size(0.8, 0.8, **options)
print(f"{needed.n_per_group} subjects per group ({needed.low} to {needed.high})")

# %%
# The curve
# ---------
# Every size that was tried is kept. The same simulated subjects are used for all sizes, so that the
# sizes are compared on the same random draws. ``power`` is the share of changed edges that are
# found. ``overall`` is the share of simulations in which the global test finds a difference.

sizes = [trial.n_per_group for trial in needed.tried]
middle = np.array([trial.power for trial in needed.tried])
low, high = (np.array([getattr(f, end) for f in needed.tried]) for end in ("low", "high"))

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.fill_between(sizes, low, high, color="#0072B2", alpha=0.15, lw=0)
ax.plot(sizes, middle, "o-", color="#0072B2", label="the changed edge is found")
overall = [trial.overall for trial in needed.tried]
ax.plot(sizes, overall, "s--", color="#D55E00", label="the networks are found to differ")
ax.axhline(0.8, color="0.6", lw=1, ls=":")
ax.axvline(needed.n_per_group, color="0.6", lw=1, ls=":")
ax.set(
    xscale="log",
    xlabel="subjects per group",
    ylabel="chance of a find",
    ylim=(0, 1.03),
    title="A change of 0.8 in one edge (20 simulations, interval of 95 %)",
)
ax.set_xticks([20, 40, 80], ["20", "40", "80"])
ax.minorticks_off()
ax.legend(loc="lower right")
plt.show()
