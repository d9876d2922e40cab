"""Judges tables that exist: check, measure, risk, attack, report."""
