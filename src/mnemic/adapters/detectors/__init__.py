"""Secret detectors."""
