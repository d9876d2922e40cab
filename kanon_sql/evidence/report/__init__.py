"""Plots and reports of results. Nothing here is imported before it is needed.

reporter            a report of a source, or of a release that was just published gather              collects the facts
of a release: a ``Report`` (written), of plain data (figures) attributes, proof   the columns; a test that the published
rows are those that the policy makes render              turns a Report into HTML or Markdown, with the templates beside
it (words)
"""
