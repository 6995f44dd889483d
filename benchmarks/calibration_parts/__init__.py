"""What benchmarks/calibration.py is made of: cohorts, scores, peers, real tables, report."""
