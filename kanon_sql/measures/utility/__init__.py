"""What a release is still good for, in figures that other tools report too, one figure per file.

All of them read a release with the rows of each label spread over the values that the label covers (``spread``).
"""
