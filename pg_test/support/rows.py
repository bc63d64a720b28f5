"""What the tables say: the truth that the functions' answers are held against."""

from psycopg.rows import namedtuple_row


def _one(conn, query: str, job_id: int):
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(query, [job_id]).fetchone()


def live(conn, job_id: int):
    """The row of a live job, or None."""
    return _one(conn, "SELECT * FROM turnstile.job WHERE id = %s", job_id)


def finished(conn, job_id: int):
    """The row of a finished job, or None."""
    return _one(conn, "SELECT * FROM turnstile.job_history WHERE id = %s", job_id)


def state(conn, job_id: int) -> str | None:
    """The state of a job, live or finished; None where there is no such job, an error where there are two."""
    states = conn.execute("SELECT state::text FROM turnstile.jobs WHERE id = %s", [job_id]).fetchall()
    assert len(states) <= 1, f"job {job_id} is in the view {len(states)} times: {states}"
    return states[0][0] if states else None


def counts(conn) -> dict[str, int]:
    """How many jobs are in each state."""
    return dict(conn.execute("SELECT state::text, count(*) FROM turnstile.jobs GROUP BY 1").fetchall())


def everything(conn) -> list:
    """All job rows, live and finished, whole: two calls are equal if nothing changed in between."""
    live_rows = conn.execute("SELECT j::text FROM turnstile.job j ORDER BY id").fetchall()
    return live_rows + conn.execute("SELECT h::text FROM turnstile.job_history h ORDER BY id").fetchall()


def clock(conn):
    """The server's time."""
    return conn.execute("SELECT clock_timestamp()").fetchone()[0]
