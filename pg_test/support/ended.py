"""What has become of jobs, where others do the work."""

from support.sleepers import until

COUNTS = "SELECT state, count(*) FROM turnstile.jobs GROUP BY state"
ONE = "SELECT state, result, errors, attempt FROM turnstile.jobs WHERE id = %s"


def counts(conn) -> dict:
    return dict(conn.execute(COUNTS).fetchall())


def await_counts(conn, **wanted: int) -> None:
    until(lambda: counts(conn) == wanted, f"{wanted}", lambda: counts(conn))


def state(conn, job: int) -> str:
    return conn.execute(ONE, [job]).fetchone()[0]


def await_state(conn, job: int, wanted: str) -> None:
    until(lambda: state(conn, job) == wanted, f"job {job} is {wanted}", lambda: conn.execute(ONE, [job]).fetchone())


def result(conn, job: int):
    return conn.execute(ONE, [job]).fetchone()[1]


def errors(conn, job: int) -> list[str]:
    return [each["error"] for each in conn.execute(ONE, [job]).fetchone()[2] or []]


def history(conn) -> list[int]:
    """The jobs that have left a row in the history."""
    return [job for (job,) in conn.execute("SELECT id FROM turnstile.job_history ORDER BY id").fetchall()]


def error_classes(conn, job: int) -> list[str | None]:
    return [each.get("class") for each in conn.execute(ONE, [job]).fetchone()[2] or []]
