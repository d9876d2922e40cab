"""``python -m kanon_sql`` is ``kanon``."""

from kanon_sql.cli.process import program

if __name__ == "__main__":
    program()
