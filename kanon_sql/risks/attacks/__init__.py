"""Attacks on a release by someone who knows people in the original, one attack per file."""
