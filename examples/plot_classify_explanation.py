"""
Why this subject?
=================

A network classifier can say why it puts a subject into a group. The log-likelihood ratio is a sum
over regions and edges, and ``explain`` gives every term.
"""

# %%
# Train
# -----

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import sgbn

cohort = sgbn.simulate_cohort(150, regions=20)
X, y = sgbn.cohort_table(cohort), cohort.group
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
classifier = sgbn.SGBNClassifier().fit(X_train, y_train)
print(f"accuracy in subjects not seen: {classifier.score(X_test, y_test):.2f}")

# %%
# One subject
# -----------
# We take the test subject that is most surely a patient. ``ratio`` is the log-likelihood ratio of
# patient over control, in nats. Probabilities are calibrated on unseen rows. So they are less
# extreme than the ratio alone would make them.

explanation = classifier.explain(X_test, of="patient", against="control")
who = int(explanation.ratio.argmax())
probability = classifier.predict_proba(X_test)[who]
print("subject", X_test.index[who], "is in truth a", y_test[who])
print(f"log-likelihood ratio {explanation.ratio[who]:.2f}")
print(dict(zip(classifier.classes_.tolist(), probability.round(3).tolist(), strict=True)))

# %%
# Its terms
# ---------
# A region counts by itself if it is far from the mean of one group. An edge counts if two regions
# go together as they do in one group and not in the other. A region far from both means has a large
# term of its own, and the edge that predicts it has a term of the opposite sign. Read the two
# together. All terms sum to the ratio.

terms = [(name, value) for name, value in zip(explanation.names, explanation.own[who], strict=True)]
edges = zip(explanation.sources, explanation.targets, explanation.edges[who], strict=True)
terms += [(f"{source} -> {target}", value) for source, target, value in edges]
print(f"sum of all terms {sum(value for _, value in terms):.2f}")

terms.sort(key=lambda term: -abs(term[1]))
names, values = zip(*terms[:12][::-1], strict=True)
colours = ["#D55E00" if value > 0 else "#0072B2" for value in values]
fig, ax = plt.subplots(figsize=(8, 5), layout="constrained")
ax.barh(names, values, color=colours)
ax.axvline(0, color="0.4", lw=1)
ax.set(
    xlabel="part of the log-likelihood ratio (nats): left control, right patient",
    title=f"Subject {X_test.index[who]}: the 12 largest of {len(terms)} terms",
)

# %%
# All subjects
# ------------
# The figure shows the terms of each region with the edges into it, over all test subjects. A region
# that decides in one subject need not do so in another.

parts = explanation.regions
order = np.argsort(explanation.ratio)
top = np.argsort(-np.abs(parts).mean(axis=0))[:8]
limit = np.abs(parts[:, top]).max()
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
image = ax.imshow(
    parts[np.ix_(order, top)].T, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto"
)
ax.set_yticks(range(8), np.array(explanation.names)[top])
ax.set(xlabel="test subjects, by their ratio", title="What decides, subject by subject")
fig.colorbar(image, label="nats: blue control, red patient")
plt.show()
