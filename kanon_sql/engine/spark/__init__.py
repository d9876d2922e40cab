"""Spark as a warehouse."""
