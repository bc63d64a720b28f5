"""What a job waits for, by which indexes find it, follows from its state, whoever writes the row."""

import pytest

from support.calls import claim_all, claim_next, complete, enqueue, fail, ids, snooze
from support.errors import refused

WAITS_FOR = {"available": None, "running": None, "scheduled": "time", "retryable": "time", "blocked": "jobs"}


def _waits_for(conn, job_id: int) -> str | None:
    return conn.execute("SELECT waits_for FROM turnstile.job WHERE id = %s", [job_id]).fetchone()[0]


@pytest.mark.parametrize("old", WAITS_FOR)
@pytest.mark.parametrize("new", WAITS_FOR)
def test_it_follows_the_state(conn, old, new):
    job_id = enqueue(conn)
    for state in (old, new):
        conn.execute("UPDATE turnstile.job SET state = %s WHERE id = %s", [state, job_id])
        assert _waits_for(conn, job_id) == WAITS_FOR[state]


@pytest.mark.parametrize("value", [None, "time", "jobs", "nonsense"])
@pytest.mark.parametrize("state", WAITS_FOR)
def test_it_cannot_be_set_by_hand(conn, state, value):
    query = "INSERT INTO turnstile.job (kind, state, waits_for) VALUES ('work', %s, %s) RETURNING id"
    job_id = conn.execute(query, [state, value]).fetchone()[0]
    assert _waits_for(conn, job_id) == WAITS_FOR[state]
    conn.execute("UPDATE turnstile.job SET waits_for = %s", [value])
    assert _waits_for(conn, job_id) == WAITS_FOR[state]


def test_it_cannot_be_set_by_copy(conn):
    conn.execute("CREATE TEMP TABLE dump (LIKE turnstile.job INCLUDING DEFAULTS)")
    with conn.cursor().copy("COPY turnstile.job (kind, state, waits_for) FROM STDIN") as copy:
        copy.write("work\tavailable\ttime\nwork\tscheduled\t\\N\n")
    conn.execute("SET session_replication_role = replica")
    with conn.cursor().copy("COPY turnstile.job (kind, state, waits_for) FROM STDIN") as copy:
        copy.write("work\tavailable\tjobs\n")
    found = conn.execute("SELECT state, waits_for FROM turnstile.job ORDER BY id").fetchall()
    assert found == [("available", None), ("scheduled", "time"), ("available", None)]


def test_it_follows_what_becomes_of_a_job(conn):
    job_id = enqueue(conn, run_at="2100-01-01")
    assert _waits_for(conn, job_id) == "time"
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp()")
    run = claim_next(conn)
    assert (run.id, _waits_for(conn, job_id)) == (job_id, None)
    snooze(conn, run, "1 hour")
    assert _waits_for(conn, job_id) == "time"
    conn.execute("UPDATE turnstile.job SET run_at = clock_timestamp()")
    fail(conn, claim_next(conn))
    assert _waits_for(conn, job_id) == "time"
    assert _waits_for(conn, enqueue(conn, after=[job_id])) == "jobs"


def test_a_job_that_is_made_available_before_its_time_need_not_wait(conn):
    job_id = enqueue(conn, run_at="2100-01-01")
    conn.execute("UPDATE turnstile.job SET state = 'available'")
    assert _waits_for(conn, job_id) is None
    assert claim_next(conn).id == job_id


def test_a_later_trigger_that_changes_the_state_is_refused(conn):
    job_id = enqueue(conn)
    conn.execute(
        "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.state := 'retryable'; RETURN NEW; END $$;"
        "CREATE TRIGGER zz_late BEFORE UPDATE OF priority ON turnstile.job FOR EACH ROW EXECUTE FUNCTION late()"
    )
    with refused("23514"):
        conn.execute("UPDATE turnstile.job SET priority = 7")
    assert ids(claim_all(conn)) == [job_id]


def test_what_runs_does_not_hide_what_waits_before_it(conn, other):
    """The index has both."""
    first, *others = (enqueue(conn) for _ in range(200))
    other.execute("BEGIN")
    claim_next(other)
    runs = claim_all(conn)
    assert ids(runs) == others
    other.execute("ROLLBACK")
    assert claim_next(conn).id == first
    assert claim_next(conn) is None
    late = enqueue(conn)
    assert ids(claim_all(conn)) == [late]
    assert all(complete(conn, run) for run in runs)
