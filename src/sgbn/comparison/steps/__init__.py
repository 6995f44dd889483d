"""The steps of a comparison: what they compute, their words, and their sections of the page.

`STEPS` lists the steps. Each is a class in the file of its subject.
"""

from sgbn.comparison.step import Step
from sgbn.comparison.steps.deviations import DeviationsStep
from sgbn.comparison.steps.differences import DifferencesStep
from sgbn.comparison.steps.models import ModelsStep
from sgbn.comparison.steps.networks import ConfidenceStep, NetworksStep
from sgbn.comparison.steps.refinements import RefinementsStep
from sgbn.comparison.steps.replication import ReplicationStep
from sgbn.comparison.steps.sensitivity import SensitivityStep
from sgbn.comparison.steps.told_apart import AccuracyStep, ModelStep

STEPS: tuple[Step, ...] = (
    NetworksStep(),
    ModelsStep(),  # in the first report, as it decides which arrows are supported
    ConfidenceStep(),
    DifferencesStep(),
    ReplicationStep(),
    SensitivityStep(),
    RefinementsStep(),
    DeviationsStep(),
    AccuracyStep(),
    ModelStep(),
)
TITLES = {step.name: step.title for step in STEPS}
