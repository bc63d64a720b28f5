"""A queue and a tenant whose backlog has a bound."""

import contextlib

import psycopg

from support.calls import enqueue
from support.settings import configure

FULL = "53400"
WAITS = "state IN ('available', 'scheduled', 'retryable')"
KEYS = {"queue": "mail", "tenant": "acme"}
JOB = {"queue": "mail", "tenant": "acme"}


def waiting(conn, table="queue") -> int:
    """How many jobs wait."""
    query = f"SELECT count(*) FROM turnstile.job WHERE {table} = %s AND {WAITS}"
    return conn.execute(query, [KEYS[table]]).fetchone()[0]


def bound(conn, most, table="queue") -> None:
    configure(conn, table, KEYS[table], max_waiting=most)


def free(conn) -> int:
    """For how many more there is a place; it takes none."""
    places = 0
    with contextlib.suppress(psycopg.errors.ConfigurationLimitExceeded), conn.transaction():
        for places in range(100):
            enqueue(conn, **JOB)
        raise AssertionError("there is no bound")
    return places
