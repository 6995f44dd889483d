"""Save models as files, and load them. A file is a zip of JSON and npy files without any code."""

from sgbn.io.models.files import load, save
from sgbn.io.models.inputs import Inputs, inputs_of, read_inputs

__all__ = ["Inputs", "inputs_of", "load", "read_inputs", "save"]
