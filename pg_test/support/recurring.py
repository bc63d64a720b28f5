"""Recurring jobs as administrators see them, and firings by hand."""

import time

from psycopg.rows import namedtuple_row

from support.calls import call


def recurring_jobs(conn) -> list:
    """The rows of the view."""
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute("SELECT * FROM turnstile.recurring_jobs ORDER BY name").fetchall()


def fire(conn, name: str = "nightly") -> int | None:
    """A firing as pg_cron does it: the new job's id, or None if this minute was taken."""
    return call(conn, "enqueue_recurring", name=name)[0][0]


def begin_in_a_young_minute(conn) -> None:
    """What follows for ten seconds falls into one minute."""
    while conn.execute("SELECT extract(second FROM clock_timestamp())").fetchone()[0] > 50:
        time.sleep(0.5)
