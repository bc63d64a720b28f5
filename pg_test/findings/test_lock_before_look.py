"""Who waits for a session that rewrites a table acts as if he had begun after it: he looks after he has the lock."""

import pytest

from faults.witness import is_sound
from findings.behind import REWRITE, behind
from findings.verbs import VERBS, warm
from support import naive, rows
from support.calls import call, claim_all, claim_next, complete, discard, enqueue, enqueue_times, retry
from support.settings import configure


@pytest.fixture(params=["a session that has worked", "a new session"])
def caller(request, db):
    conn = db.connect()
    if request.param == "a session that has worked":
        warm(conn)
        conn.execute("SELECT turnstile.rebuild()")
    return conn


# What is full is known without a look at the table.
NEED_NOT_WAIT = {"claim_next at a limit", "claim at a limit"}


@pytest.mark.parametrize("name", VERBS)
def test_a_call_behind_a_rewrite_of_the_jobs(db, caller, other, name):
    verb = VERBS[name]
    subject = verb.prepare(other)
    assert behind(db, caller, lambda: verb.call(caller, subject), waits=name not in NEED_NOT_WAIT) == verb.answer
    assert rows.counts(other) == verb.counts
    is_sound_but_for_retries(other)


def is_sound_but_for_retries(conn):
    assert call(conn, "check") == []
    naive.claim_all_as_predicted(conn, ["default"])
    assert call(conn, "check") == []


@pytest.mark.parametrize("name", ["complete", "claim_next", "claim_next at a limit", "enqueue with a key", "rescue", "rebuild"])
@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_a_call_in_a_transaction_that_has_looked_at_other_tables(db, caller, other, name, level):
    verb = VERBS[name]
    subject = verb.prepare(other)
    caller.execute(f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM pg_class")
    assert behind(db, caller, lambda: verb.call(caller, subject), waits=name not in NEED_NOT_WAIT) == verb.answer
    caller.execute("COMMIT")
    assert rows.counts(other) == verb.counts
    is_sound_but_for_retries(other)


def test_a_lease_is_not_forgotten(db, caller, other):
    """The rescue looks with a snapshot that is older than the rewrite; if it finds nothing, a later one does."""
    enqueue(other)
    run = claim_next(other, lease="1 second")
    other.execute("SELECT pg_sleep_until(%s)", [run.lease_expires_at])
    behind(db, caller, lambda: call(caller, "rescue")[0][0])
    is_sound(other)
    call(other, "rescue")
    assert rows.state(other, run.id) == "retryable"


@pytest.mark.parametrize("verb", [claim_next, lambda conn: call(conn, "rebuild")], ids=["claim", "rebuild"])
def test_no_available_job_is_forgotten(db, caller, other, verb):
    made = [enqueue(other, tenant=tenant) for tenant in ("a", "b", "c", None)]
    behind(db, caller, lambda: verb(caller))
    is_sound(other)
    claim_all(other)
    assert rows.counts(other) == {"running": len(made)}
    is_sound(other)


@pytest.mark.parametrize("table", ["tenant", "queue"])
def test_a_limit_is_read_after_a_rewrite_of_the_settings(db, caller, other, table):
    configure(other, "tenant", "acme", slots=1)
    configure(other, "queue", "default", max_running=1)
    enqueue_times(other, 3, tenant="acme")
    other.execute(f"DELETE FROM turnstile.{'queue' if table == 'tenant' else 'tenant'} WHERE name IN ('acme', 'default')")
    other.execute("SELECT turnstile.rebuild()")
    assert len(behind(db, caller, lambda: claim_all(caller), REWRITE.format(table))) == 1
    is_sound(other)


@pytest.mark.parametrize("key", [{}, {"unique_mode": "until_expired", "unique_for": "1 day"}], ids=["held", "with a window"])
def test_a_key_is_not_doubled_by_a_rewrite_of_the_keys(db, caller, other, key):
    holder = enqueue(other, unique_key="k", **key)
    assert behind(db, caller, lambda: enqueue(caller, unique_key="k", **key), REWRITE.format("unique_key")) == holder
    assert rows.counts(other) == {"available": 1}


def test_what_has_ended_is_found_after_a_rewrite_of_the_history(db, caller, other):
    enqueue(other)
    run = claim_next(other)
    complete(other, run)
    assert behind(db, caller, lambda: complete(caller, run), REWRITE.format("job_history")) is False


def test_what_has_ended_is_brought_back_after_a_rewrite_of_the_history(db, caller, other):
    enqueue(other)
    run = claim_next(other)
    discard(other, run)
    assert behind(db, caller, lambda: retry(caller, run.id), REWRITE.format("job_history")) == "available"
    assert claim_next(other).id == run.id


def test_a_route_is_read_after_a_rewrite_of_the_routes(db, caller, other):
    other.execute("SELECT turnstile.set_route('work', 'elsewhere')")
    made = behind(db, caller, lambda: enqueue(caller), REWRITE.format("route"))
    assert rows.live(other, made).queue == "elsewhere"


KEYED = {
    "enqueue": lambda conn: enqueue(conn, unique_key="k"),
    "enqueue_many": lambda conn: call(conn, "enqueue_many", jobs=[{"kind": "work", "unique_key": "k"}]),
}


@pytest.mark.parametrize("produce", KEYED.values(), ids=KEYED.keys())
def test_a_key_is_not_locked_before_the_jobs(db, caller, other, produce):
    """TRUNCATE of the jobs empties the keys, too: who locks in the other order would meet it in a deadlock."""
    enqueue(other, unique_key="k")
    made = behind(db, caller, lambda: produce(caller), "LOCK TABLE turnstile.job", meanwhile="TRUNCATE turnstile.job")
    assert made
    assert rows.counts(other) == {"available": 1}
    is_sound(other)


@pytest.mark.parametrize("level", ["claim_next", "complete_and_claim_next"])
def test_a_rebuild_that_waits_for_the_table_blocks_no_other_call(db, caller, other, level):
    """Of two sessions that want to rebuild, one waits for the table and the other has it."""
    verb = VERBS[level]
    subject = verb.prepare(other)
    answer = behind(db, caller, lambda: verb.call(caller, subject), meanwhile="SELECT turnstile.rebuild()")
    assert answer == verb.answer
    is_sound(other)
