import warnings

import pytest

from sgbn.core.exceptions import DataWarning
from sgbn.read.series_files import confounds_among, warn_confounds

FMRIPREP = [
    *("framewise_displacement", "global_signal", "global_signal_derivative1_power2", "csf"),
    *("white_matter", "dvars", "std_dvars", "rmsd", "trans_x", "trans_y_derivative1"),
    *("rot_z", "rot_z_power2", "a_comp_cor_00", "t_comp_cor_05", "w_comp_cor_01", "cosine00"),
    *("motion_outlier05", "non_steady_state_outlier00", "edge_comp_12", "aroma_motion_07", "CSF"),
    *("framewise_displacement_filtered", "linear_trend"),
]
REGIONS = ["rotation_area", "csf_left", "Left-Cerebral-White-Matter", "fdg", "x", "LH_Cont_1", "r1"]


def test_names_of_fmriprep_are_confounds_and_those_of_regions_are_not():
    assert confounds_among([*FMRIPREP, *REGIONS]) == FMRIPREP


def test_a_warning_names_them():
    with pytest.warns(DataWarning, match=r"'a': 2 columns are .*: 'csf', 'fd'\. They are left out"):
        warn_confounds("'a'", ["csf", "fd"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_confounds("'a'", [])
