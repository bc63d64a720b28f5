"""claim_own: a test drains what it has enqueued in its own transaction, and rolls back; nobody else notices."""

import psycopg
import pytest
from psycopg.types.json import Jsonb

from support.calls import call, cancel, claim_next, complete, enqueue, enqueue_many, fail, ids, release, retry, snooze
from support.errors import refused
from support.rows import counts, state
from support.settings import configure

def differences(conn) -> list:
    """Between memory and the tables."""
    return conn.execute("SELECT * FROM turnstile.check()").fetchall()


WRONG_STATE = "55000"
PART, PARTS = Jsonb([{"kind": "part"}]), Jsonb([{"kind": "part"}, {"kind": "part"}])


def claim_own(conn, *queues, **arguments) -> list:
    return call(conn, "claim_own", **({"queues": list(queues)} if queues else {}) | arguments)


def drain(conn, end=complete) -> list[int]:
    """Runs all that there is, one after the other."""
    done = []
    while runs := claim_own(conn):
        done.append(runs[0].id)
        end(conn, runs[0])
    return done


@pytest.fixture
def test(db):
    """A connection inside of a transaction that is rolled back."""
    conn = db.connect(autocommit=False)
    yield conn
    conn.rollback()


def test_it_drains_what_the_transaction_has_enqueued_and_nothing_else(conn, test):
    enqueue(conn)
    mine = [enqueue(test), enqueue(test, queue="other")]
    assert drain(test) == mine
    assert counts(test) == {"available": 1, "completed": 2}
    test.rollback()
    assert counts(conn) == {"available": 1}


def test_others_notice_nothing(conn, test):
    configure(conn, "queue", "default", max_running=1)
    committed = enqueue(conn)
    enqueue(test)
    assert len(claim_own(test, max_jobs=9)) == 1
    assert claim_next(conn).id == committed
    assert differences(conn) == []
    test.rollback()
    assert differences(conn) == []


def test_limits_pauses_and_busy_sessions_do_not_count(conn, test):
    configure(conn, "queue", "*", paused=True)
    configure(conn, "tenant", "acme", slots=1)
    conn.execute("SELECT turnstile.set_concurrency('key', slots => 1, rate => 1, rate_per => '1 day')")
    mine = [enqueue(test, tenant="acme", session="s", concurrency_key="key") for _ in range(3)]
    assert ids(claim_own(test, max_jobs=9)) == mine


def test_the_order_is_by_priority_and_position_and_in_a_session_by_position(test):
    late, first, urgent = enqueue(test), enqueue(test, priority=-1), enqueue(test, priority=-2)
    one, two = enqueue(test, session="s", priority=5), enqueue(test, session="s", priority=-9)
    assert drain(test) == [urgent, first, late, one, two]


def test_queues_that_are_not_named_are_left(test):
    enqueue(test, queue="a")
    b, c = enqueue(test, queue="b"), enqueue(test, queue="c")
    assert ids(claim_own(test, "b", "c", max_jobs=9)) == [b, c]
    assert claim_own(test, "b") == []


def test_a_run_is_as_the_worker_would_have_it(test):
    job = enqueue(test, payload={"a": 1}, metadata={"b": 2}, tenant="acme", max_attempts=3)
    [run] = claim_own(test, worker="me")
    assert (run.id, run.attempt, run.payload, run.metadata, run.tenant) == (job, 1, {"a": 1}, {"b": 2}, "acme")
    assert (run.max_attempts, run.lease_expires_at) == (3, None)
    assert call(test, "heartbeat", job_id=job, attempt=1) == [(True,)]
    assert call(test, "progress", job_id=job, attempt=1, done=1) == [(True,)]
    assert complete(test, run, result=[1])
    assert test.execute("SELECT result, worker, attempt FROM turnstile.jobs WHERE id = %s", [job]).fetchone() == ([1], "me", 1)


def test_a_job_that_fails_comes_again_when_it_is_retried(test):
    job = enqueue(test)
    assert drain(test, lambda conn, run: fail(conn, run, retry_in="0")) == [job]
    retry(test, job)
    [run] = claim_own(test)
    assert (run.id, run.attempt) == (job, 2)
    release(test, run)
    assert drain(test, lambda conn, run: snooze(conn, run, "1 hour")) == [job]
    assert state(test, job) == "scheduled"


def test_a_job_of_a_session_comes_back_to_its_place(test):
    first, second = enqueue(test, session="s"), enqueue(test, session="s")
    [run] = claim_own(test)
    release(test, run)
    assert drain(test) == [first, second]


def test_jobs_that_are_not_due_and_those_that_were_cancelled_are_left(test):
    enqueue(test, run_at="2100-01-01")
    cancel(test, enqueue(test))
    assert drain(test) == []


def test_a_batch_runs_to_its_callback(test):
    [(batch,)] = call(test, "enqueue_batch", kind="sum", children=PARTS)
    kinds = []
    while runs := claim_own(test):
        kinds.append((runs[0].kind, runs[0].children))
        complete(test, runs[0])
    assert kinds == [("part", None), ("part", None), ("sum", {"completed": 2, "discarded": 0, "cancelled": 0})]
    assert state(test, batch) == "completed"


def test_a_batch_in_a_session_opens_when_its_turn_comes(test):
    first = enqueue(test, session="s")
    [(batch,)] = call(test, "enqueue_batch", kind="sum", session="s", children=PART)
    last = enqueue(test, session="s")
    done = drain(test)
    assert (done[0], len(done)) == (first, 4)
    assert state(test, batch) == state(test, last) == "completed"


def test_children_that_a_run_adds_end_before_it_goes_on(test):
    parent = enqueue(test)
    [run] = claim_own(test)
    child = enqueue(test, parent=parent)
    call(test, "await_children", job_id=parent, attempt=run.attempt)
    assert drain(test) == [child, parent]


def test_followers_run_after_their_predecessors(test):
    first = enqueue(test)
    second = enqueue(test, after=[first])
    third = enqueue(test, after=[second])
    assert drain(test) == [first, second, third]


def test_a_follower_of_what_was_discarded_is_discarded(test):
    first = enqueue(test)
    second = enqueue(test, after=[first])
    assert drain(test, lambda conn, run: fail(conn, run, discard=True)) == [first]
    assert state(test, second) == "discarded"


def test_what_was_made_for_waiting_jobs_leaves_no_trace_in_memory(conn, test):
    first = enqueue(test)
    enqueue(test, after=[first])
    call(test, "enqueue_batch", kind="sum", children=PART)
    drain(test)
    assert claim_next(conn, "*") is None
    test.rollback()
    assert differences(conn) == []
    assert claim_next(conn, "*") is None


def test_a_savepoint_that_rolls_back_brings_the_jobs_back(test):
    job, after = enqueue(test), []
    with test.transaction(force_rollback=True):
        after.append(enqueue(test))
        assert drain(test) == [job, *after]
    assert drain(test) == [job]


def test_a_savepoint_that_is_released_keeps_them(test):
    outer = enqueue(test)
    with test.transaction():
        job = enqueue(test)
        first, second = claim_own(test, max_jobs=2)
        complete(test, first)
    assert [first.id, second.id] == [outer, job]
    assert claim_own(test) == []
    with test.transaction():
        complete(test, second)
    test.commit()


def test_what_has_ended_may_be_committed(conn, test):
    jobs = [enqueue(test) for _ in range(3)]
    assert drain(test) == jobs
    later = enqueue(test)
    test.commit()
    assert claim_next(test).id == later
    test.commit()
    assert differences(conn) == []


@pytest.mark.parametrize("end", ["COMMIT", "PREPARE TRANSACTION 'own'"])
def test_a_run_that_goes_on_cannot_be_committed(db, conn, end):
    test = db.connect()
    test.execute("BEGIN")
    enqueue(test)
    claim_own(test)
    with pytest.raises(psycopg.Error) as told:
        test.execute(end)
    assert told.value.sqlstate == (WRONG_STATE if end == "COMMIT" else "0A000")
    assert counts(conn) == {}
    assert differences(conn) == []


CHANGES = {
    "priority": "SELECT turnstile.reprioritize(%s, 3)",
    **{
        column: f"UPDATE turnstile.job SET {column} = {value} WHERE id = %s"
        for column, value in {
            "queue": "'other'", "tenant": "'t'", "session": "'s'", "concurrency_key": "'k'", "run_at": "now() - interval '1 hour'", "payload": "'{}'",
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_goes_on_whatever_else_changes(conn, test, change):
    job = enqueue(test)
    claim_own(test)
    test.execute(CHANGES[change], [job])
    with pytest.raises(psycopg.Error) as told:
        test.commit()
    assert told.value.sqlstate == WRONG_STATE
    assert counts(conn) == {}
    assert differences(conn) == []


def test_a_run_that_waits_for_its_children_cannot_be_committed(conn, test):
    enqueue(test, session="s")
    [run] = claim_own(test)
    enqueue(test, parent=run.id)
    call(test, "await_children", job_id=run.id, attempt=run.attempt)
    with pytest.raises(psycopg.Error) as told:
        test.commit()
    assert told.value.sqlstate == WRONG_STATE
    assert counts(conn) == {}


def test_a_run_that_failed_does_not_take_the_session_from_another(conn, test):
    configure(conn, "queue", "default", retry_base="0")
    held = enqueue(conn, session="s")
    fail(conn, claim_next(conn))
    enqueue(test, session="s")
    [own] = claim_own(test)
    fail(test, own)
    test.commit()
    assert conn.execute("SELECT array_agg(id) FROM turnstile.job WHERE holds_session").fetchone()[0] == [held]
    assert claim_next(conn).id == held
    assert claim_next(conn) is None
    assert differences(conn) == []


def test_what_is_gone_or_never_ran_does_not_hinder_the_commit(conn, test):
    enqueue(test)
    claim_own(test)
    test.execute("TRUNCATE turnstile.job")
    test.commit()
    test.execute(
        "CREATE FUNCTION pg_temp.keep() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN IF NEW.state = 'running' THEN NEW.state := 'available'; END IF; RETURN NEW; END$$"
    )
    test.execute("CREATE TRIGGER keep BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pg_temp.keep()")
    job = enqueue(test)
    assert claim_own(test) == []
    test.execute("DROP TRIGGER keep ON turnstile.job")
    test.commit()
    assert claim_next(conn).id == job
    assert differences(conn) == []


def test_a_transaction_claims_in_one_way_only(conn, test):
    enqueue(conn, queue="committed")
    enqueue(test)
    with pytest.raises(psycopg.Error) as told, test.transaction():
        claim_next(test, "committed")
        claim_own(test)
    assert told.value.sqlstate == WRONG_STATE
    claim_own(test)
    for verb, arguments in (("claim_next", {}), ("claim", {"queues": ["*"]}), ("complete_and_claim", {"job_ids": [], "attempts": [], "queues": ["*"]})):
        with pytest.raises(psycopg.Error) as told, test.transaction():
            call(test, verb, **arguments)
        assert told.value.sqlstate == WRONG_STATE, verb


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_it_works_at_each_isolation_level(db, level):
    test = db.connect()
    test.execute(f"BEGIN ISOLATION LEVEL {level}")
    first = enqueue(test)
    second = enqueue(test, after=[first])
    assert drain(test) == [first, second]
    test.execute("ROLLBACK")


def test_it_works_in_a_function_and_as_a_prepared_statement(test):
    jobs = [enqueue(test) for _ in range(20)]
    test.execute("PREPARE next AS SELECT id, attempt FROM turnstile.claim_own()")
    done = []
    for _ in jobs[:10]:
        [(job, attempt)] = test.execute("EXECUTE next").fetchall()
        done.append(job)
        test.execute("SELECT turnstile.complete(%s, %s)", [job, attempt])
    test.execute("DO $$BEGIN WHILE (SELECT turnstile.complete(id, attempt) FROM turnstile.claim_own()) LOOP END LOOP; END$$")
    assert done == jobs[:10]
    assert counts(test) == {"completed": 20}


def test_many_jobs_come_each_once(test):
    made = [row.id for row in enqueue_many(test, [{"kind": "work", "priority": number % 7} for number in range(2_500)])]
    claimed = ids(claim_own(test, max_jobs=2_000)) + ids(claim_own(test, max_jobs=2_000))
    assert sorted(claimed) == made
    assert claimed == sorted(made, key=lambda job: ((job - made[0]) % 7, job))


def test_a_role_gets_jobs_of_its_queues_only(db, conn, role):
    worker_role = role
    conn.execute("SELECT turnstile.allow_worker(%s, '{mine}')", [worker_role])
    conn.execute("SELECT turnstile.allow_producer(%s)", [worker_role])
    test = db.connect(autocommit=False)
    test.execute(f"SET ROLE {worker_role}")
    mine = enqueue(test, queue="mine")
    enqueue(test, queue="other")
    assert ids(claim_own(test, max_jobs=9)) == [mine]
    with pytest.raises(psycopg.Error) as told, test.transaction():
        claim_own(test, "other")
    assert told.value.sqlstate == "42501"


@pytest.mark.parametrize(("arguments", "sqlstate"), [
    ({"queues": None}, "22004"), ({"queues": [None]}, "22004"), ({"max_jobs": None}, "22004"), ({"max_jobs": -1}, "22023"),
    ({"queues": [""]}, "22023"), ({"queues": ["x" * 256]}, "54000"),
])  # fmt: skip
def test_bad_arguments_are_refused(test, arguments, sqlstate):
    with refused(sqlstate):
        call(test, "claim_own", **arguments)


def test_none_are_claimed_where_none_are_wanted(test):
    enqueue(test)
    assert claim_own(test, max_jobs=0) == []
    assert claim_own(test, worker=None) != []
