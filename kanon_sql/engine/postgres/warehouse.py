"""PostgreSQL: a warehouse by psycopg, with bulk transfer by COPY."""

from __future__ import annotations

import re
import time
from contextlib import closing, contextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import Column, Constraint, Logged, closed_on_error
from kanon_sql.engine.keys import shown_url
from kanon_sql.engine.postgres.session import (
    SESSION,
    batches,
    current_schema,
    from_postgres_type,
    postgres_errors,
    setting,
    spend_more,
    tuples,
)
from kanon_sql.engine.progress import check_deadline, next_deadline
from kanon_sql.engine.sources.reading import text_reader
from kanon_sql.engine.warehouse.warehouse import ListedRelation, Warehouse, places, plain, with_names
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import NATIVE, render, rendered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import psycopg

    from kanon_sql.engine.base import Values
    from kanon_sql.engine.capabilities import Place
    from kanon_sql.engine.warehouse.warehouse import Receiver, RelationKind

_LONGEST = 63
"""Bytes to which PostgreSQL truncates names."""
_SENT = "kanon_sent"
"""Prefix of the names of tables that are sent temporarily."""
_FEW = 1000
"""Most rows of a table that is not analyzed, such as a hierarchy; the planner then assumes ten pages.

With NULL as a value, statistics of few labels would make it expect that few rows have any of them.
"""


class PostgresWarehouse(Warehouse):
    """A PostgreSQL database.

    All statements of a run are in one transaction with one snapshot (REPEATABLE READ): the release is made from the
    rows that were searched, even if others write in the meantime.
    """

    dialect = "postgres"
    kind: Place = "PostgreSQL"
    temporary_schema = "pg_temp"

    def __init__(self, connection: psycopg.Connection[Any], place: str, *, url: str | None = None) -> None:
        """Use a connection in autocommit mode; if it has a URL, it was opened here and is closed with the warehouse."""
        self.connection = connection
        self.place = place
        self._url, self.given = url, (connection, url)
        self._begun = False
        self._publishing = False
        self.statements, self._temporary = [], []
        self._uploaded: list[exp.Table] = []
        self._sent: dict[str, str] = {}
        with postgres_errors("the settings of the session"):
            self._before = {name: setting(connection, name) for name in (*SESSION, "search_path")}
            self._set(SESSION)
            self.schema, path = current_schema(connection)
            self._set({"search_path": path})
        self._shadowing: list[str] | None = None  # functions that may be called instead of PostgreSQL's

    @classmethod
    def connect(cls, url: str) -> PostgresWarehouse:
        """Connect to ``postgresql://user@host/database``; PG* variables fill in missing parts."""
        try:
            import psycopg
        except ImportError:
            raise SourceError(
                "PostgreSQL needs psycopg, which is not here: pip install 'kanon-sql[postgres]'."
            ) from None
        place = shown_url(url)
        try:
            connection = psycopg.connect(url, autocommit=True)
        except psycopg.ProgrammingError:  # its text quotes the part that it could not parse, perhaps of a password
            raise SourceError(
                f"{place} is no URL of PostgreSQL: postgresql://user@host:port/database, with special signs in a "
                "password written as %40 and the like; or leave the password to PGPASSWORD or ~/.pgpass."
            ) from None
        except (psycopg.Error, ValueError) as error:
            first = next(iter(str(error).strip().splitlines()), "no reason is given")  # names, never a password
            raise SourceError(f"{place} cannot be reached: {' '.join(first.split())}") from None
        with closed_on_error(connection):
            return cls(connection, place, url=url)

    def use_time_zone(self, zone: str) -> None:
        with postgres_errors("the time zone of the session"):
            self._set({"TimeZone": zone})

    # Catalog

    def relations(self, schema: str | None = None) -> list[ListedRelation]:
        listed = [ListedRelation(*row) for row in self._ask("postgres/relations", "tables and views")]
        return [each for each in listed if schema in {None, each.schema}]

    def schemas(self) -> list[str]:
        return [name for (name,) in self._ask("postgres/schemas", "schemas")]

    def constraints(self) -> list[Constraint]:
        return [Constraint(*row) for row in self._ask("postgres/constraints", "keys of the tables")]

    def columns(self, relation: exp.Expr) -> tuple[Column, ...]:
        found = self._ask("postgres/columns", "columns of the table", relation)
        return tuple(Column(name, from_postgres_type(*described)) for name, *described in found)

    def definition_of(self, view: exp.Table) -> str:
        ((text,),) = self._ask("postgres/definition", "definition of the view", view)
        return str(text)

    def computed(self, relation: exp.Table) -> set[str]:
        of_view = super().computed(relation)
        return of_view or {name for (name,) in self._ask("postgres/generated", "generated columns", relation)}

    def numbers_of_values(self, relation: exp.Table) -> Mapping[str, int]:
        """Return the estimates of the last ANALYZE."""
        return dict(self._ask("postgres/values", "how many values columns have", relation))

    def _ask(self, name: str, title: str, relation: exp.Expr | None = None) -> list[tuple[Any, ...]]:
        about: dict[str, sql.Value | exp.Expr] = {}
        if relation is not None:
            about = {"schema": relation.text("db") or self.schema, "name": relation.name}
        statement = sql.statement(name, values=about)
        statement.meta[NATIVE] = self.dialect
        return self.rows(statement, title)

    # Statements

    def run(self, statement: exp.Expr, title: str = "") -> None:
        """Run a statement; do not create what exists."""
        if isinstance(statement, exp.Create) and statement.kind == "SCHEMA":
            _require_short(statement.this.db)
        if isinstance(statement, exp.Create) and statement.args.get("exists") and self._has(statement):
            return  # without the right to create it, CREATE IF NOT EXISTS fails even if it exists
        self.rows(statement, title)

    def rows(self, statement: exp.Expr, title: str = "", parameters: Values | None = None) -> list[tuple[Any, ...]]:
        with self._step(sql.bound(statement, parameters) if parameters else statement, title) as texts:
            *before, query = texts
            for text in before:
                self.connection.execute(text)
            return [*map(plain, tuples(self.connection, query))]

    def fetch(self, query: exp.Query, types: Mapping[str, str], into: Receiver, table: exp.Table, title: str) -> None:
        from psycopg import sql as composed

        with self._step(query, title) as texts, self.connection.cursor() as cursor:
            copy = composed.SQL("COPY ({}) TO STDOUT (FORMAT csv)").format(composed.SQL(texts[-1]))
            with cursor.copy(copy) as messages:
                columns = dict.fromkeys(places(types), "VARCHAR")  # NULL is empty, an empty text is ""
                for number, file in enumerate(batches(messages, into.spills_to)):
                    rows = text_reader(file, columns, csv=True, header=False)
                    into.take(table, types, rows, written=True, more=number > 0)

    def upload(self, table: exp.Table, shape: exp.Query, rows: Iterable[Sequence[Any]], title: str) -> None:
        """Create a table from rows until the end of the transaction (see ``Warehouse.upload``).

        Parallel workers cannot read temporary tables. So during a release it is a plain unlogged table if this user may
        create one; others do not see it, and it is dropped before the transaction ends. Its name in the database is an
        unused one: the user may have a table of the same name, and another run that creates it would block until this
        one ends.
        """
        from psycopg import sql as composed

        self._sent[table.name] = f"{_SENT}_{token_hex(8)}"
        may_create = "SELECT has_schema_privilege(current_schema(), 'CREATE')"
        plain = self._publishing and tuples(self.connection, may_create) == [(True,)]
        create = sql.create_table(table, shape, temporary=not plain)
        if plain:
            create.set("properties", exp.Properties(expressions=[exp.UnloggedProperty()]))
        self.run(create, title)
        self._uploaded.append(sql.relation(self._sent[table.name]))
        copy = composed.SQL("COPY {} ({}) FROM STDIN").format(
            composed.Identifier(self._sent[table.name]),
            composed.SQL(", ").join(map(composed.Identifier, shape.named_selects)),
        )
        number = 0
        with postgres_errors(title), self.connection.cursor() as cursor, cursor.copy(copy) as channel:
            for number, row in enumerate(rows, start=1):  # noqa: B007 - how many there were
                check_deadline(title)
                channel.write_row(row)
        if number > _FEW:
            self.run(exp.Analyze(tables=[sql.relation(table.name)]), title)

    def _has(self, create: exp.Create) -> bool:
        if create.kind == "SCHEMA":
            return create.this.db in self.schemas()
        table = create.find(exp.Table)
        return table is not None and self.kind_of(table) is not None

    def rename(self, made: exp.Table, target: exp.Table, kind: RelationKind) -> None:
        _require_short(target.name)
        action = exp.AlterRename(this=sql.relation(target.name))
        self.run(exp.Alter(this=made.copy(), kind=kind, actions=[action]), "the verified release takes its name")

    def undo(self, relation: exp.Table, kind: RelationKind) -> None:
        """Do nothing: the end of the transaction did."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the statements inside take effect together or not at all; they see the rows that were searched."""
        self._begin()
        self._publishing = True
        try:
            yield
        except BaseException:
            self._end("ROLLBACK")
            raise
        finally:
            self._publishing = False
        for table in self._uploaded:  # the owner's connection stays open
            self.drop(table, "TABLE")
        with postgres_errors("commit"):
            self.connection.execute("COMMIT")
        self._begun = False
        self.forget()

    @contextmanager
    def alone(self, table: exp.Table, query: exp.Query) -> Iterator[list[tuple[Any, ...]]]:
        """Hold a lock until the end, and yield the rows committed by then, read on a separate connection.

        The snapshot of this connection is as old as the search, and its transaction would release a lock before others
        see its writes.
        """
        import psycopg

        title = "earlier releases, as they are now"
        info, name = self.connection.info, f"{table.db}.{table.name}"
        with postgres_errors(title):
            beside = psycopg.connect(self._url or info.dsn, password=info.password or None, autocommit=True)
        with closing(beside):
            with postgres_errors(title):
                tuples(beside, "SELECT pg_advisory_lock(hashtextextended(%s, 0))", (name,))
                ((there,),) = tuples(beside, "SELECT to_regclass(%s) IS NOT NULL", (name,))
                self.tell(Logged(title, query, {}, self.dialect))
                rows = tuples(beside, rendered(query, self.dialect)[-1]) if there else []
            yield rows

    def forget(self) -> None:
        """Roll the transaction back, which undoes everything."""
        if self._begun:
            self._end("ROLLBACK")
        self._uploaded.clear()
        self._sent.clear()

    def close(self) -> None:
        """Close the connection; restore the settings of one with another owner."""
        if self._url is not None:
            self.connection.close()
            return
        self.forget()
        if not self.connection.closed:
            with postgres_errors("the settings of the session"):
                for table in reversed(self._temporary):  # a transaction that published keeps the tables of a search
                    self.connection.execute(render(sql.drop(table), self.dialect))
                self._set(self._before)

    def _set(self, settings: Mapping[str, str]) -> None:
        for name, value in settings.items():
            self.connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", (name, value))

    def _begin(self) -> None:
        if not self._begun:
            with postgres_errors("begin"):
                self.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                spend_more(self.connection)
            self._begun = True

    @contextmanager
    def _step(self, statement: exp.Expr, title: str) -> Iterator[list[str]]:
        """Yield the texts of a statement to run inside; if it fails, the transaction continues without it."""
        import psycopg

        check_deadline(title)
        self._begin()
        self.tell(Logged(title, statement, {}, self.dialect))
        with postgres_errors(title):
            sent = with_names(statement, lambda table: None if table.db else self._sent.get(table.name))
            texts = rendered(sent, self.dialect)
            self._require_builtin_functions(texts)
        deadline = next_deadline()
        with postgres_errors(title, deadline):
            self.connection.execute("SAVEPOINT kanon_step")
            before_it = setting(self.connection, "statement_timeout") if deadline is not None else ""
            if deadline is not None:  # in force until the step ends
                self._stop_after(f"{max(1, int((deadline - time.monotonic()) * 1000))}ms")
            try:
                yield texts
            except psycopg.Error:
                with suppress(psycopg.Error):  # report the error of the statement, not this one
                    self.connection.execute("ROLLBACK TO SAVEPOINT kanon_step")
                raise
            if deadline is not None:
                self._stop_after(before_it)
            self.connection.execute("RELEASE SAVEPOINT kanon_step")

    def _require_builtin_functions(self, texts: Sequence[str]) -> None:
        """Raise if a user's function or operator would be called instead of PostgreSQL's."""
        if self._shadowing is None:
            query = sql.statement("postgres/shadowing")
            query.meta[NATIVE] = self.dialect
            self._shadowing = sorted(name for (name,) in tuples(self.connection, rendered(query, self.dialect)[-1]))
        if called := [name for name in self._shadowing if any(_calls(text, name) for text in texts)]:
            raise SourceError(
                f"{self.place} has functions or operators that PostgreSQL calls in place of its own of the same name, "
                f"because they fit certain types better: {', '.join(called)}. Rename them, or connect with a "
                "search_path that leaves their schema out (PGOPTIONS='-c search_path=...'). Nothing was changed."
            )

    def _stop_after(self, time_limit: str) -> None:
        self.connection.execute("SELECT set_config('statement_timeout', %s, true)", (time_limit,))

    def _end(self, how: str) -> None:
        import psycopg

        with suppress(psycopg.Error):  # gone, with its transaction
            self.connection.execute(how)
        self._begun = False


def _require_short(name: str) -> None:
    """Raise if PostgreSQL would truncate a name, which it does silently."""
    if len(name.encode()) > _LONGEST:
        raise UsageError(f"{name!r} is too long: names in PostgreSQL have {_LONGEST} bytes at most. Give another name.")


def _calls(text: str, name: str) -> bool:
    """Return True if a statement may call a function or an operator of a name."""
    if re.fullmatch(r"\w+", name) is None:
        return name in text
    return re.search(rf"(?<![\w.\"]){re.escape(name)}\s*\(", text, re.IGNORECASE) is not None
