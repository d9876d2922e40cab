"""``kanon explore``: a web application on one's own machine that shows how risk and utility move.

``state`` is what a URL says, laid over a policy; ``workspace`` holds the table and what was computed of it;
``pictures`` places what is drawn; ``server`` answers one browser.
"""
