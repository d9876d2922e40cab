"""What the name of a column suggests: kinds of columns, the words for them in several languages, and their roles.

No SQL and no table here: a name goes in, kinds come out.
"""

from kanon_sql.hierarchy.vocabulary.kinds import KINDS, Kind, Role, role_of_kind, text_of_kind
from kanon_sql.hierarchy.vocabulary.matching import is_of_person, kinds_of_name

__all__ = ["KINDS", "Kind", "Role", "is_of_person", "kinds_of_name", "role_of_kind", "text_of_kind"]
