"""Append new rows to a published release: with the same labels, in classes that are large enough by themselves."""
