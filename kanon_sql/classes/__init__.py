"""Equivalence classes: the frequency set, the lattice over it, recodings, and measures of classes."""
