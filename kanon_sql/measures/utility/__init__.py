"""Remaining utility of a release, in measures that other tools report too, one measure per file.

All of them read a release with the rows of each label spread over the values that the label covers (``spread``).
"""
