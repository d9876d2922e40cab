"""Judges of existing tables: check, measure, risk, attack, report."""
