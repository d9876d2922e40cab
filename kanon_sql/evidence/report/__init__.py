"""Pictures and reports of what was found. Nothing here is imported before it is needed.

reporter            a report of a source, or of a release that was just published
gather              from a release to its facts: a ``Report`` (written), of plain data (figures)
attributes, proof   the columns; whether what was published is what the policy makes
render              from a Report to HTML or Markdown, by the templates beside it (words)
"""
