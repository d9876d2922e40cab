"""Pictures and reports of what was found. Nothing here is imported before it is asked for.

gather          from a release to its facts: a ``Report``, which is plain data (figures)
render          from a Report to HTML or Markdown, by the templates beside it
"""
