"""
Inside Pipeline and GridSearchCV
================================

All learners and classifiers are scikit-learn estimators. Every step that looks at the labels
belongs inside the cross-validation. This example shows how, and what happens otherwise.
"""

# %%
# Data with sites, ages and gaps
# ------------------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import sgbn
from sgbn.write.draw.accuracy import plot_accuracy

cohort = sgbn.simulate_cohort(100, covariates=["age", "sex"], n_sites=2, missing=0.01)
X, y = sgbn.cohort_table(cohort), cohort.group
print(X.iloc[:3, :6].to_string())

# %%
# One Pipeline
# ------------
# ``make_analysis`` fills in gaps, harmonises sites, removes the effects of covariates, chooses
# regions, standardises and classifies. Each step is fitted only in the training part.
# (``temperature=1`` leaves probabilities uncalibrated. Calibration is not needed here and takes
# five more fits.)

networks = sgbn.make_analysis(cohort, k=20, classifier=sgbn.SGBNClassifier(temperature=1.0))
print([name for name, _ in networks.steps])

# %%
# Choose its settings
# -------------------
# ``GridSearchCV`` finds every step by name. Here it chooses the number of regions and the sparsity
# of the networks.

grid = {
    "select__k": [10, 20],
    "classify__learner": [sgbn.SGBN(gamma=1, n_kicks=0), sgbn.SGBN(gamma=2, n_kicks=0)],
}
inner = StratifiedKFold(3, shuffle=True, random_state=0)
search = GridSearchCV(networks, grid, scoring="balanced_accuracy", cv=inner)
search.fit(X, y)
print(search.best_params_)

# %%
# How good is the choice? The best score of the search is too good, because it was chosen for being
# the best. A second, outer cross-validation uses subjects that the search has not seen.

outer = StratifiedKFold(5, shuffle=True, random_state=1)
scores = {
    "SGBN, searched": cross_val_score(search, X, y, cv=outer, scoring="balanced_accuracy"),
    "shrinkage LDA": cross_val_score(
        sgbn.make_analysis(cohort, k=20), X, y, cv=outer, scoring="balanced_accuracy"
    ),
}
print(f"best score inside the search {search.best_score_:.2f}")
for name, values in scores.items():
    print(f"{name}: {values.mean():.2f} in subjects not seen")

# %%
# Never choose regions before
# ---------------------------
# Labels without any meaning must give an accuracy of one half. If the regions are first chosen on
# all subjects, the accuracy is higher.

rng = np.random.default_rng(0)
noise = pd.DataFrame(rng.standard_normal((80, 400))).add_prefix("region ")
labels = np.repeat(["a", "b"], 40)
chosen = sgbn.RegionSelector(k=10).set_output(transform="pandas").fit_transform(noise, labels)
lda = sgbn.make_analysis(impute=None)
scores["noise, chosen inside"] = cross_val_score(
    sgbn.make_analysis(impute=None, k=10), noise, labels, cv=outer, scoring="balanced_accuracy"
)
scores["noise, chosen before (wrong)"] = cross_val_score(
    lda, chosen, labels, cv=outer, scoring="balanced_accuracy"
)

table = pd.DataFrame(
    [
        {"method": name, "mean": v.mean(), "low": v.min(), "high": v.max()}
        for name, v in scores.items()
    ]
)
fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
plot_accuracy(ax, table)
ax.set_title("Mean of five folds; the line spans the lowest and the highest fold", pad=16)
plt.show()
