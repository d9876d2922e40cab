"""Figures of risk about classes: attacks and estimators."""
