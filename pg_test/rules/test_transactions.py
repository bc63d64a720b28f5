"""Transactions: what is not committed is nobody's, what is rolled back never was, and nobody waits for anybody."""

import psycopg
import pytest

from support import naive, rows
from support.calls import (
    claim, claim_all, claim_next, complete, complete_and_claim, complete_and_claim_next, complete_many, discard, enqueue, enqueue_many,
    enqueue_times, fail, ids, release,
)  # fmt: skip
from support.errors import NOT_SUPPORTED, refused
from support.settings import configure

VERBS = {
    "enqueue": lambda conn, run: enqueue(conn, tenant="acme"),
    "enqueue_many": lambda conn, run: enqueue_many(conn, [{"kind": "work", "tenant": "acme"}] * 3),
    "claim_next": lambda conn, run: claim_next(conn),
    "claim": lambda conn, run: claim(conn, ["default"], 3),
    "complete": complete,
    "complete_many": lambda conn, run: complete_many(conn, [run]),
    "complete_and_claim_next": complete_and_claim_next,
    "complete_and_claim": lambda conn, run: complete_and_claim(conn, [run], ["default"], 3),
    "fail": lambda conn, run: fail(conn, run, retry_in="1 millisecond"),
    "fail for good": discard,
    "release": release,
}
each_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())


@pytest.fixture
def run(conn):
    """One of two allowed runs of tenant acme; more jobs of it and of others wait."""
    configure(conn, "tenant", "acme", slots=2)
    for _ in range(3):
        enqueue(conn, tenant="acme")
        enqueue(conn, tenant="globex", session="chat-1")
    return claim_next(conn)


@each_verb
@pytest.mark.parametrize("ended_by", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT", "SELECT 1/0"])
def test_what_is_rolled_back_never_was(conn, other, run, verb, ended_by):
    before = rows.everything(conn)
    conn.execute("BEGIN; SAVEPOINT s")
    verb(conn, run)
    assert rows.everything(conn) != before
    if ended_by == "SELECT 1/0":
        with pytest.raises(psycopg.errors.DivisionByZero):
            conn.execute(ended_by)
        conn.execute("COMMIT")
    else:
        conn.execute(ended_by)
    assert rows.everything(other) == before
    naive.claim_all_as_predicted(other, ["default"])
    assert rows.counts(other)["running"] == 3, "two of acme and one of the session"
    assert complete(other, run) is True


def _outline(conn):
    """The jobs without what differs from one time to the next: ids, positions and times."""
    query = "SELECT tenant, session, state::text, attempt FROM turnstile.jobs ORDER BY id"
    return conn.execute(query).fetchall()


@each_verb
def test_what_is_rolled_back_can_be_done_again_in_the_same_transaction(conn, other, run, verb):
    conn.execute("BEGIN; SAVEPOINT s")
    verb(conn, run)
    undone = _outline(conn)
    conn.execute("ROLLBACK TO SAVEPOINT s")
    verb(conn, run)
    conn.execute("COMMIT")
    assert _outline(other) == undone
    naive.claim_all_as_predicted(other, ["default"])


@each_verb
def test_an_open_transaction_of_any_verb_lets_others_work(conn, other, run, verb):
    """lock_timeout would fail the other connection's calls if one of them had to wait."""
    other.execute("SET lock_timeout = '1s'")
    conn.execute("BEGIN")
    verb(conn, run)
    configure(other, "queue", "elsewhere", max_running=5)
    enqueued = enqueue(other, tenant="initech", session="chat-9")
    claimed = claim_all(other)
    assert enqueued in ids(claimed)
    assert complete_many(other, claimed) == len(claimed)
    conn.execute("COMMIT")
    naive.claim_all_as_predicted(other, ["default"])


def test_an_uncommitted_job_is_not_claimable_and_is_once_committed(conn, other):
    conn.execute("BEGIN")
    job_id = enqueue(conn)
    assert claim_next(other) is None
    conn.execute("COMMIT")
    assert claim_next(other).id == job_id


def test_a_job_is_not_claimable_before_its_commit_even_by_its_own_transaction(conn):
    conn.execute("BEGIN")
    job_id = enqueue(conn)
    assert claim_next(conn) is None
    conn.execute("COMMIT")
    assert claim_next(conn).id == job_id


def test_a_late_commit_comes_in_at_its_own_place(conn, other):
    """Positions do not follow commit order: the job enqueued first is next even if others committed before it."""
    conn.execute("BEGIN")
    late = enqueue(conn)
    early = enqueue_times(other, 3)
    assert claim_next(other).id == early[0]
    conn.execute("COMMIT")
    assert ids(claim_all(other)) == [late, *early[1:]]


def test_an_uncommitted_end_frees_nothing_for_others_and_its_commit_does(conn, other):
    configure(conn, "tenant", "acme", slots=1)
    _, second = enqueue_times(conn, 2, tenant="acme")
    run = claim_next(conn)
    conn.execute("BEGIN")
    complete(conn, run)
    assert claim_next(other) is None
    conn.execute("COMMIT")
    assert claim_next(other).id == second


def test_an_uncommitted_claim_holds_its_job_and_slot_against_others(conn, other):
    configure(conn, "tenant", "acme", slots=1)
    enqueue_times(conn, 2, tenant="acme")
    free = enqueue(conn)
    conn.execute("BEGIN")
    run = claim_next(conn)
    assert ids(claim_all(other)) == [free]
    conn.execute("COMMIT")
    assert claim_next(other) is None
    complete(other, run)
    assert claim_next(other) is not None


@pytest.mark.parametrize(
    "end", [complete, discard, lambda conn, run: fail(conn, run, retry_in="1 hour")], ids=["complete", "discard", "fail"]
)
@pytest.mark.parametrize("behind", [{"session": "chat-1"}, {"tenant": "acme"}], ids=["session", "tenant"])
def test_a_slot_freed_inside_a_transaction_is_usable_by_a_claim_of_the_same_one(conn, other, end, behind):
    configure(conn, "tenant", "acme", slots=1)
    configure(conn, "queue", "default", session_on_retry="pass")
    enqueue_times(conn, 3, **behind)
    run = claim_next(conn)
    conn.execute("BEGIN")
    end(conn, run)
    handed_on = claim_next(conn)
    assert handed_on is not None
    assert claim_next(conn) is None, "one slot was freed, not two"
    assert claim_next(other) is None
    conn.execute("COMMIT")
    assert claim_next(other) is None
    assert rows.counts(other)["running"] == 1
    complete(other, handed_on)
    assert claim_next(other) is not None


def test_a_session_handed_on_and_rolled_back_is_with_its_first_run(conn, other):
    first, second = enqueue_times(conn, 2, session="chat-1")
    run = claim_next(conn)
    conn.execute("BEGIN")
    complete(conn, run)
    assert claim_next(conn).id == second
    conn.execute("ROLLBACK")
    assert claim_next(other) is None
    assert complete_and_claim_next(other, run).id == second
    assert rows.state(other, first) == "completed"


def test_nested_savepoints_undo_their_own_level_only(conn, other):
    configure(conn, "queue", "default", max_running=4)
    enqueued = enqueue_times(conn, 8)
    conn.execute("BEGIN")
    kept = [claim_next(conn)]
    conn.execute("SAVEPOINT a")
    claim_next(conn)
    conn.execute("SAVEPOINT b")
    claim_next(conn)
    conn.execute("RELEASE SAVEPOINT b")
    conn.execute("ROLLBACK TO SAVEPOINT a")
    conn.execute("SAVEPOINT c")
    kept.append(claim_next(conn))
    conn.execute("RELEASE SAVEPOINT c")
    conn.execute("COMMIT")
    assert ids(kept) == enqueued[:2]
    assert ids(claim_all(other)) == enqueued[2:4]


def test_a_thousand_savepoints_are_undone_each(conn):
    enqueued = enqueue_times(conn, 3)
    conn.execute("BEGIN")
    for _ in range(1000):
        conn.execute("SAVEPOINT s")
        assert claim_next(conn).id == enqueued[0]
        conn.execute("ROLLBACK TO SAVEPOINT s; RELEASE SAVEPOINT s")
    conn.execute("COMMIT")
    assert ids(claim_all(conn)) == enqueued


def test_a_claim_with_an_old_snapshot_loses_no_job_for_others(conn, other):
    """Such a claim may take what it sees, or nothing, or fail to serialise; the rest must still be found."""
    old = enqueue_times(conn, 2)
    conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    conn.execute("SELECT count(*) FROM turnstile.job")
    taken = ids(claim_all(other))
    assert taken == old
    new = enqueue_times(other, 3)
    try:
        mine = ids(claim(conn, ["default"], 5))
        conn.execute("COMMIT")
    except psycopg.errors.SerializationFailure:
        conn.execute("ROLLBACK")
        mine = []
    assert set(mine) <= set(new)
    assert sorted(mine + ids(claim_all(other))) == new


def test_a_claim_in_a_fresh_snapshot_of_a_transaction_takes_the_next_job(conn):
    enqueued = enqueue_times(conn, 2)
    conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    assert claim_next(conn).id == enqueued[0]
    conn.execute("COMMIT")
    assert claim_next(conn).id == enqueued[1]


@pytest.mark.parametrize("verb", [lambda c: enqueue(c), claim_next], ids=["enqueue", "claim"])
def test_a_read_only_transaction_changes_no_job(conn, verb):
    enqueue(conn)
    before = rows.everything(conn)
    conn.execute("BEGIN READ ONLY")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        verb(conn)
    conn.execute("ROLLBACK")
    assert rows.everything(conn) == before
    assert len(claim_all(conn)) == 1


def test_two_open_claims_never_get_the_same_job(conn, other):
    enqueued = enqueue_times(conn, 6)
    conn.execute("BEGIN")
    other.execute("BEGIN")
    taken = [claim_next(connection).id for _ in range(3) for connection in (conn, other)]
    assert taken == enqueued
    conn.execute("COMMIT")
    other.execute("ROLLBACK")
    assert ids(claim_all(conn)) == enqueued[1::2]


def test_a_job_row_locked_by_another_session_is_passed_over_until_it_is_let_go(conn, other):
    enqueued = enqueue_times(conn, 3)
    conn.execute("BEGIN")
    conn.execute("SELECT 1 FROM turnstile.job WHERE id = %s FOR UPDATE", [enqueued[0]])
    assert ids(claim_all(other)) == enqueued[1:]
    conn.execute("ROLLBACK")
    assert ids(claim_all(other)) == enqueued[:1]


def test_an_old_open_snapshot_holds_no_call_up(conn, other):
    conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    conn.execute("SELECT count(*) FROM turnstile.job")
    for _ in range(50):
        job_id = enqueue(other)
        run = claim_next(other)
        assert run.id == job_id
        complete(other, run)
    assert conn.execute("SELECT count(*) FROM turnstile.jobs").fetchone() == (0,)


CHANGES = VERBS | {
    "INSERT": lambda conn, run: conn.execute("INSERT INTO turnstile.job (queue, kind) VALUES ('default', 'work')"),
    "UPDATE": lambda conn, run: conn.execute("UPDATE turnstile.job SET priority = 1 WHERE state = 'available'"),
    "DELETE": lambda conn, run: conn.execute("DELETE FROM turnstile.job WHERE id = %s", [run.id]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_prepare_transaction_after_changing_jobs_is_refused(conn, other, run, prepared_name, change):
    before = rows.everything(conn)
    conn.execute("BEGIN")
    change(conn, run)
    with refused(NOT_SUPPORTED):
        conn.execute(f"PREPARE TRANSACTION '{prepared_name}'")
    conn.execute("ROLLBACK")
    assert rows.everything(other) == before
    naive.claim_all_as_predicted(other, ["default"])
    assert rows.counts(other)["running"] == 3


def test_prepare_transaction_without_changing_jobs_is_none_of_the_queues_business(conn, prepared_name):
    conn.execute("CREATE TABLE plain (n int)")
    conn.execute("BEGIN")
    conn.execute("INSERT INTO plain VALUES (1)")
    conn.execute(f"PREPARE TRANSACTION '{prepared_name}'")
    conn.execute(f"COMMIT PREPARED '{prepared_name}'")
    assert conn.execute("SELECT n FROM plain").fetchall() == [(1,)]
