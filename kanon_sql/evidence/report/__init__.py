"""Pictures and reports of what was found. Nothing here is imported before it is asked for.

gather          from a release to its figures: a ``Report``, which is plain data
compose_...     from a Report to a document: sections of paragraphs, tables and charts
page, markdown  from a document to HTML or Markdown
"""
