"""A row that makes no sense, by a role that may write to the whole table: refused, or no trouble for others."""

import itertools

import psycopg
import pytest

from support.calls import call, claim_next, complete, enqueue, fail
from support.settings import configure

INTS = ["-2147483648", "-1", "0", "1000000000", "1000000001", "2147483647"]
BIGINTS = ["-9223372036854775808", "-9223372036854775807", "-1", "9223372036854775805", "9223372036854775806", "9223372036854775807"]
TIMES = ["'-infinity'", "'infinity'", "'4713-01-01 BC'", "'294276-12-31'", "'epoch'"]
JSON = ["'null'", "'7'", "'{}'", "'[7]'", "jsonb_build_array(repeat('x', 1000000))"]
EXTREMES = {
    "id": BIGINTS[:-1],
    "position": BIGINTS,
    "priority": INTS,
    "attempt": INTS,
    "max_attempts": INTS,
    "uncounted": INTS,
    "run_at": TIMES,
    "lease_expires_at": TIMES,
    "claimed_at": TIMES,
    "created_at": TIMES,
    "cancel_requested_at": TIMES,
    "unique_until": TIMES,
    "owner_started_at": TIMES,
    "owner_pid": INTS,
    "holds_session": ["true"],
    "errors": JSON,
    "progress": JSON,
    "metadata": JSON,
    "lane": BIGINTS,
    "lane_group": BIGINTS,
    "unique_mode": ["'replace'", "'while_executing'", "'nonsense'"],
    "worker": ["''", "repeat('w', 1000000)"],
}
STATES = ["available", "scheduled", "running", "retryable"]
VIEWS = ["jobs", "queues", "tenants", "accounts", "concurrency_keys", "workers", "history_partition", "recurring_jobs"]


@pytest.fixture
def vandal(conn, make_user):
    """Who may write to the table of jobs as he likes, but may call nothing."""
    user = make_user("USAGE ON SCHEMA turnstile", "SELECT, INSERT, UPDATE, DELETE ON turnstile.job",
                     "USAGE ON ALL SEQUENCES IN SCHEMA turnstile")  # fmt: skip
    return user.connect()


def _poison(vandal, column: str, value: str, state: str, **more) -> bool:
    """Whether the row was let in; else it was refused as a CHECK would."""
    columns = {"kind": "'poison'", "queue": "'vandals'", "tenant": "'vandal'", "session": "'s'", "account": "'a'",
               "concurrency_key": "'k'", "state": f"'{state}'"} | more | {column: value}  # fmt: skip
    if column in ("lane", "lane_group"):
        columns.pop("session")
    try:
        vandal.execute(f"INSERT INTO turnstile.job ({', '.join(columns)}) VALUES ({', '.join(columns.values())})")
    except psycopg.Error as error:
        assert error.sqlstate == "23514", error
        return False
    return True


def _everybody_goes_on(conn, neighbour) -> None:
    for policy in ("fifo", "fair"):
        configure(conn, "queue", "neighbours", policy=policy, aging="1 second", max_running=10)
        neighbour.works()
        neighbour.works(session="s")
        neighbour.works(unique_key="u")
        neighbour.works(every_queue=True, priority=-2147483648)
    for view in VIEWS:
        conn.execute(f"SELECT shown::text FROM turnstile.{view} AS shown").fetchall()
    for verb in ("rescue", "promote", "prune_unique_keys"):
        call(conn, verb)
    assert None not in dict(call(conn, "maintain")).values()
    assert call(conn, "check") == []
    call(conn, "rebuild")
    neighbour.works()
    assert call(conn, "check") == []


@pytest.mark.parametrize("column", EXTREMES)
def test_extreme_rows_are_refused_or_do_no_harm(conn, vandal, neighbour, column):
    # Beyond the ids that others draw: a role that sets ids can take theirs, and should not be able to set any.
    ids = itertools.count(1_000_000_000)
    states = STATES if column != "id" else STATES[:1]
    for value, state in itertools.product(EXTREMES[column], states):
        _poison(vandal, column, value, state, **({"id": str(next(ids))} if column != "id" else {}))
    configure(conn, "queue", "vandals", aging="1 second", policy="fair")
    _everybody_goes_on(conn, neighbour)


@pytest.mark.parametrize("column", EXTREMES)
def test_rows_made_extreme_later_are_refused_or_do_no_harm(conn, vandal, neighbour, column):
    values = EXTREMES[column]
    made = [enqueue(conn, queue="vandals", tenant="vandal", session=f"s{number}") for number in range(2 * len(values))]
    for _ in values:
        claim_next(conn, "vandals")
    for job_id, value in zip(made, [*values, *values], strict=True):
        try:
            vandal.execute(f"UPDATE turnstile.job SET {column} = {value} WHERE id = {job_id}")
        except psycopg.Error as error:
            assert error.sqlstate in ("23514", "23505"), error
    _everybody_goes_on(conn, neighbour)


@pytest.mark.parametrize("time", ["'infinity'", "'294276-12-31'"])
def test_a_job_from_the_future_makes_no_other_younger(conn, vandal, neighbour, time):
    """Ages are read from the tables when the first queue begins to age its jobs."""
    _poison(vandal, "created_at", time, "available", position="1", session="NULL")
    old = "INSERT INTO turnstile.job (queue, kind, priority, created_at, run_at) VALUES ('neighbours', 'old', 5,"
    conn.execute(f"{old} now() - interval '1 hour', now() - interval '1 hour')")
    enqueue(conn, "new", queue="neighbours", priority=4)
    configure(conn, "queue", "neighbours", aging="1 second")
    assert [claim_next(conn, "neighbours").kind for _ in range(2)] == ["old", "new"]
    assert call(conn, "check") == []


@pytest.mark.parametrize("value", ["999999999", "1000000000"])
def test_a_run_whose_attempts_are_at_their_end_can_be_ended_in_every_way(conn, vandal, neighbour, value):
    """Its number goes one up with each claim; what may not be written must not come of that."""
    ways = {
        "fail": lambda run: fail(conn, run, retry_in="0"),
        "rescue": lambda run: conn.execute("UPDATE turnstile.job SET lease_expires_at = '2001-01-01' WHERE id = %s", [run.id]),
        "heartbeat": lambda run: call(conn, "heartbeat", job_id=run.id, attempt=run.attempt),
        "release": lambda run: call(conn, "release", job_id=run.id, attempt=run.attempt),
        "snooze": lambda run: call(conn, "snooze", job_id=run.id, attempt=run.attempt, delay="0"),
        "complete": lambda run: complete(conn, run),
    }
    for name, end in ways.items():
        assert _poison(vandal, "attempt", value, "available", queue=f"'{name}'", max_attempts="2147483647", session="NULL",
                       account="NULL", concurrency_key="NULL")  # fmt: skip
        run = claim_next(conn, name)
        assert run.attempt == int(value) + 1
        end(run)
        neighbour.works(every_queue=False)
        call(conn, "rescue")
    assert call(conn, "check") == []


def test_extremes_in_settings_stop_no_other_job(conn, neighbour):
    """What somebody who sets limits sets for his own queue and tenant."""
    values = {
        "max_running": ["0", "2147483647"], "max_waiting": ["2147483647"], "rate": ["1", "2147483647"], "burst": ["1", "2147483647"],
        "rate_per": ["'1 microsecond'", "'100 years'"], "paused_until": TIMES, "aging": ["'1 second'", "'30 days'"],
        "lease": ["'1 microsecond'", "'100 years'"], "max_attempts": ["1", "2147483647"],
        "retry_base": ["'0'", "'178000000 years'"], "retry_cap": ["'0'", "'178000000 years'"],
        "keep_completed": ["'0'", "'178000000 years'"], "keep_discarded": ["'0'", "'178000000 years'"],
    }  # fmt: skip
    for column, settings in values.items():
        for value in settings:
            conn.execute(f"DELETE FROM turnstile.queue WHERE name = 'odd'; INSERT INTO turnstile.queue (name, {column}) VALUES ('odd', {value})")
            enqueue(conn, queue="odd", tenant="odd")
            if run := claim_next(conn, "odd"):
                fail(conn, run)
            neighbour.works(every_queue=False)
            assert None not in dict(call(conn, "maintain")).values(), (column, value)
    for table, column in itertools.product(["tenant", "account"], ["slots", "rate", "burst", "rate_per", "paused_until"]):
        for value in values.get(column, values["max_running"]):
            key, names = ("tenant, name", "'odd', 'odd'") if table == "account" else ("name", "'odd'")
            conn.execute(f"DELETE FROM turnstile.{table}; INSERT INTO turnstile.{table} ({key}, {column}) VALUES ({names}, {value})")
            enqueue(conn, queue="odd", tenant="odd", account="odd")
            claim_next(conn, "odd")
            neighbour.works()
    for view in VIEWS:
        conn.execute(f"SELECT shown::text FROM turnstile.{view} AS shown").fetchall()
    assert call(conn, "check") == []
