"""Measures of risk based on classes: attacks and estimators."""
