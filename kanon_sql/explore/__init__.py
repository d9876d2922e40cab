"""``kanon explore``: a local web application that shows how settings change risk and utility.

``state`` reads a URL as changes to a policy; ``workspace`` holds the table and results about it; ``pictures`` computes
the layout of drawings; ``server`` answers one browser.
"""
