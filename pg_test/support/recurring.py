"""Recurring jobs as administrators see them, and firings by hand."""

from psycopg import sql
from psycopg.rows import namedtuple_row

from support.calls import call

# A time that is long over, at which a row without another is due.
LONG_AGO = "2026-01-01 03:00Z"


def recurring_jobs(conn) -> list:
    """The rows of the view."""
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute("SELECT * FROM turnstile.recurring_jobs ORDER BY name").fetchall()


def only_by_hand(conn) -> None:
    """From here on no background worker fires recurring jobs of this database; this session does."""
    database = sql.Identifier(conn.info.dbname)
    conn.execute(sql.SQL("ALTER DATABASE {} SET turnstile.fire_recurring = off").format(database))
    conn.execute("SET turnstile.fire_recurring = on")


def recur(conn, name: str = "nightly", **columns) -> None:
    """A recurring job that is due."""
    given = {"name": name, "cron": "0 3 * * *", "kind": "report", "next_firing": LONG_AGO} | columns
    names, places = ", ".join(given), ", ".join(f"%({column})s" for column in given)
    conn.execute(f"INSERT INTO turnstile.recurring ({names}) VALUES ({places})", given)


def due(conn, since: str = "1 minute", name: str = "nightly") -> None:
    """It has not fired since so long ago."""
    conn.execute("UPDATE turnstile.recurring SET next_firing = date_trunc('minute', now()) - %s::interval WHERE name = %s", [since, name])


def fire(conn, **arguments) -> int:
    """How many jobs were enqueued."""
    return call(conn, "fire_recurring", **arguments)[0][0]
