"""A claim looks at what is committed now, not at its transaction's snapshot. Under SERIALIZABLE that is refused; all else works."""

import pytest

from faults.witness import is_sound
from findings.verbs import CLAIMS, VERBS
from support import rows
from support.calls import call, claim_next, enqueue, enqueue_times
from support.errors import NOT_SUPPORTED, refused

CLAIM_CALLS = {
    "claim_next": "claim_next()",
    "claim_next of all": "claim_next('*')",
    "claim": "claim(ARRAY['default'], 2)",
    "claim of none": "claim(ARRAY['default'], 0)",
    "claim of an empty queue": "claim_next('empty')",
    "claim with wait": "claim_next(wait => '1 second')",
    "claim with wait of an empty queue": "claim(ARRAY['empty'], 1, wait => '1 second')",
    "bound claim": "claim_next(bind_to_connection => true)",
    "complete_and_claim_next": "complete_and_claim_next(%(id)s, %(attempt)s)",
    "complete_and_claim_next with wait": "complete_and_claim_next(%(id)s, %(attempt)s, wait => '1 second')",
}
OTHER_CALLS = {name: verb for name, verb in VERBS.items() if name not in CLAIMS | {"rebuild": None}}

HOW = {
    "in a block": ["BEGIN ISOLATION LEVEL SERIALIZABLE"],
    "with a snapshot": ["BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM turnstile.job"],
    "by SET TRANSACTION": ["BEGIN; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
    "by default": ["SET default_transaction_isolation = 'serializable'"],
    "by default in a block": ["SET default_transaction_isolation = 'serializable'", "BEGIN"],
}


def _begin(conn, statements) -> None:
    for statement in statements:
        conn.execute(statement)


def _end(conn) -> None:
    conn.execute("ROLLBACK")
    conn.execute("RESET default_transaction_isolation")


@pytest.mark.parametrize("begin", HOW.values(), ids=HOW.keys())
@pytest.mark.parametrize("claim", CLAIM_CALLS.values(), ids=CLAIM_CALLS.keys())
def test_a_claim_is_refused(conn, other, claim, begin):
    enqueue_times(conn, 3)
    run = claim_next(conn)
    before = rows.everything(other)
    _begin(conn, begin)
    with refused(NOT_SUPPORTED):
        conn.execute(f"SELECT * FROM turnstile.{claim}", run._asdict())
    _end(conn)
    assert rows.everything(other) == before
    is_sound(other)
    assert claim_next(conn).id == run.id + 1


def test_a_claim_within_a_function_is_refused(conn, other):
    enqueue(conn)
    conn.execute(
        "CREATE FUNCTION public.work() RETURNS bigint LANGUAGE plpgsql AS"
        " $$ BEGIN RETURN (SELECT id FROM turnstile.claim_next()); END $$"
    )
    conn.execute("BEGIN ISOLATION LEVEL SERIALIZABLE; SAVEPOINT s")
    with refused(NOT_SUPPORTED):
        conn.execute("SELECT public.work()")
    conn.execute("ROLLBACK TO SAVEPOINT s; COMMIT")
    is_sound(other)
    assert claim_next(conn) is not None


@pytest.mark.parametrize("begin", HOW.values(), ids=HOW.keys())
@pytest.mark.parametrize("verb", OTHER_CALLS.values(), ids=OTHER_CALLS.keys())
def test_every_other_call_works(conn, other, verb, begin):
    subject = verb.prepare(conn)
    _begin(conn, begin)
    assert verb.call(conn, subject) == verb.answer
    conn.execute("COMMIT")
    conn.execute("RESET default_transaction_isolation")
    assert rows.counts(other) == verb.counts
    assert call(other, "check") == []


@pytest.mark.parametrize("statement", [
    "SELECT turnstile.rebuild()",
    "SELECT turnstile.maintain()",
    "SELECT turnstile.prune_unique_keys()",
    "SELECT turnstile.set_queue('default', max_running => 3)",
    "SELECT turnstile.pause_queue('default')",
    "SELECT turnstile.set_tenant('acme', slots => 3)",
    "SELECT turnstile.listen_channel('default')",
    "SELECT turnstile.route_of('work')",
    "SELECT turnstile.make_history_partitions()",
    "SELECT * FROM turnstile.queues",
    "INSERT INTO turnstile.job (kind) VALUES ('work')",
    "UPDATE turnstile.job SET priority = 3",
    "DELETE FROM turnstile.job",
])  # fmt: skip
def test_what_administrators_do_works(conn, other, statement):
    enqueue(conn)
    conn.execute("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM turnstile.job")
    conn.execute(statement)
    conn.execute("COMMIT")
    is_sound(other)


def test_a_sleeper_works_with_that_default(conn, other):
    conn.execute("SET default_transaction_isolation = 'serializable'")
    conn.execute("CALL turnstile.wait_for_job(ARRAY['default'], '10 ms')")
    enqueue(other)
    conn.execute("CALL turnstile.wait_for_job(ARRAY['default'], '1 minute')")


@pytest.mark.parametrize("verb", CLAIMS.values(), ids=CLAIMS.keys())
def test_a_claim_under_repeatable_read_works(conn, other, verb):
    subject = verb.prepare(conn)
    conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM turnstile.job")
    assert verb.call(conn, subject) == verb.answer
    conn.execute("COMMIT")
    assert rows.counts(other) == verb.counts
    is_sound(other)
