"""What there is in a catalog of Spark, and under which names kanon's own tables are kept there.

The session's own catalog takes names of tables of letters, digits and underscores alone. Names of ours with other
characters, such as ``patients_k5.age`` for the hierarchy of a view, are written in another way there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.spark.failures import told
from kanon_sql.engine.warehouse.warehouse import Listed
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.warehouse.warehouse import RelationKind

SCHEMA = "kanon"
GLOBAL = "global_temp"
_TAKEN = re.compile(r"[a-z0-9_]+")
_OTHER = re.compile(r"[^a-z0-9]")


def kept_as(name: str) -> str:
    """Return the name under which a table of kanon's own is kept; no two are kept under the same one."""
    if not name or _TAKEN.fullmatch(name):
        return name
    return "of_" + _OTHER.sub(lambda found: "__" if found[0] == "_" else f"_{ord(found[0]):x}_", name)


def with_kept_names(statement: exp.Expr) -> exp.Expr:
    """Return a statement with the names under which tables of kanon's own are kept."""

    def kept(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and folded(node.db) == SCHEMA and kept_as(node.name) != node.name:
            if isinstance(node.parent, exp.From | exp.Join) and not node.alias:  # its columns are qualified by its name
                node.set("alias", exp.TableAlias(this=node.this.copy()))
            node.set("this", sql.identifier(kept_as(node.name)))
        return node

    return statement.copy().transform(kept, copy=False)


class Catalog:
    """The current catalog of a session."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401 - a session of either kind
        """Look into the catalog of a session."""
        self._session = session

    def schemas(self) -> list[str]:
        """Return the schemas there are."""
        with told("schemas"):
            return [database.name for database in self._session.catalog.listDatabases()] + [GLOBAL]

    def relations(self, current: str, only: str | None = None) -> list[Listed]:
        """Return tables and views; those of the session go by the current schema, where they hide others.

        Args:
            current: the current schema.
            only: the schema whose relations are asked for; None for all.
        """
        schemas = [schema for schema in self.schemas() if only in {None, schema}]
        if not schemas:
            return []
        with told("tables and views"):
            of_session = [row for row in self._show("VIEWS") if row.isTemporary]
            found = [Listed(current, row.viewName, "VIEW") for row in of_session if not row.namespace]
            hidden = {listed.name for listed in found}
            for schema in schemas:
                views = set() if schema == GLOBAL else {row.viewName for row in self._show("VIEWS", schema)}
                tables = [row for row in self._show("TABLES", schema) if row.namespace == schema]
                found += [
                    Listed(schema, row.tableName, "VIEW" if row.isTemporary or row.tableName in views else "TABLE")
                    for row in tables
                    if schema != current or row.tableName not in hidden
                ]
        return found

    def found(self, name: str, current: str) -> exp.Table | None:
        """Return the relation that is there under a name, or under ``SCHEMA.NAME``; else None."""
        *before, last = name.split(".")
        if len(before) > 1 or not all([*before, last]) or SCHEMA in map(folded, before):
            return None
        schema = before[0] if before else None
        described = self._described(sql.relation(last, schema))
        if described is None:
            return None
        return sql.relation(described.name, None if schema is None or folded(schema) == folded(current) else schema)

    def kind_of(self, relation: exp.Table) -> RelationKind | None:
        """Return what a relation is; None if there is none of that name."""
        described = self._described(relation)
        if described is None:
            return None
        return "VIEW" if described.tableType in {"VIEW", "TEMPORARY"} else "TABLE"

    def is_temporary(self, relation: exp.Table) -> bool:
        """Tell whether a relation is a view of the session alone."""
        described = self._described(relation)
        return described is not None and bool(described.isTemporary)

    def comment_on(self, relation: exp.Table) -> str | None:
        """Return the comment on a table; None if it has none."""
        described = self._described(relation)
        return None if described is None else described.description

    def _described(self, relation: exp.Table) -> Any:  # noqa: ANN401 - a Table of pyspark
        from pyspark.errors import AnalysisException

        name = render(with_kept_names(relation), "spark")
        with told("is the name taken?"):
            try:
                return self._session.catalog.getTable(name)
            except AnalysisException as error:
                if "NOT_FOUND" in str(error) or "INVALID_SCHEMA_OR_RELATION_NAME" in str(error):
                    return None
                raise

    def _show(self, what: str, schema: str | None = None) -> list[Any]:
        place = [] if schema is None else ["IN", render(sql.identifier(schema), "spark")]
        statement = exp.Command(this="SHOW", expression=" ".join([what, *place]))
        return list(self._session.sql(statement.sql("spark")).collect())
