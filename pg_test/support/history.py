"""Days of the history: their partitions, and finished jobs put into them."""

import datetime

from psycopg import sql

from support.calls import call

_FINISHED = """
INSERT INTO turnstile.job_history (
    id, lane, lane_group, position, priority, run_at, state, holds_session, queue, kind, attempt, max_attempts, uncounted, payload,
    created_at, finished_at
)
SELECT nextval('turnstile.job_id_seq'), 0, 0, 0, 0, %(at)s, %(state)s, false, %(queue)s, 'work', 1, 25, 0, '{}', %(at)s, %(at)s
FROM generate_series(1, %(jobs)s)
RETURNING id
"""


def today(conn) -> datetime.date:
    return conn.execute("SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date").fetchone()[0]


def noon(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(12), datetime.UTC)


def days_ago(conn, days: int) -> datetime.date:
    return today(conn) - datetime.timedelta(days=days)


def partition_of(day: datetime.date) -> str:
    return f"turnstile.job_history_{day:%Y%m%d}"


def make_day(conn, days: int, options: str = "") -> str:
    """Makes the partition of a day that long ago and returns its name."""
    day = days_ago(conn, days)
    begin, end = (f"{each} 00:00:00+00" for each in (day, day + datetime.timedelta(days=1)))
    name = partition_of(day)
    statement = sql.SQL("CREATE TABLE {} PARTITION OF turnstile.job_history FOR VALUES FROM ({}) TO ({}) {}")
    table = sql.Identifier(*name.split("."))
    conn.execute(statement.format(table, sql.Literal(begin), sql.Literal(end), sql.SQL(options)))
    return name


def drop_days(conn) -> None:
    """Drops all daily partitions, so that only the default one is left."""
    for name in partitions(conn):
        conn.execute(f"DROP TABLE {name}")


def finish(conn, days: int, jobs: int = 1, queue: str = "default", state: str = "completed") -> list[int]:
    """Puts finished jobs into the history of a day that long ago."""
    given = {"at": noon(days_ago(conn, days)), "jobs": jobs, "queue": queue, "state": state}
    return [row[0] for row in conn.execute(_FINISHED, given).fetchall()]


def partitions(conn) -> set[str]:
    """The names of the daily partitions."""
    query = "SELECT partition::text FROM turnstile.history_partition WHERE ends IS NOT NULL"
    return {row[0] for row in conn.execute(query).fetchall()}


def kept(conn) -> set[int]:
    return {row[0] for row in conn.execute("SELECT id FROM turnstile.job_history").fetchall()}


def maintain(conn) -> dict[str, int | None]:
    """What maintain() says of each task."""
    return {row.task: row.affected for row in call(conn, "maintain")}
