"""unique_states: a job holds its key in the states that its producer names."""

import pytest

from support import holders, rows
from support.calls import call, claim_all, claim_next, complete, discard, enqueue, enqueue_many, fail, ids, retry
from support.errors import BAD_VALUE, NULL_VALUE, WRONG_STATE, refused
from support.holders import STATES, ask, held

LIVE = ("available", "scheduled", "retryable", "blocked", "running")
SUCCESSFUL = (*LIVE, "completed")
SETS = {
    "all": (*LIVE, "completed", "cancelled", "discarded"),
    "successful": SUCCESSFUL,
    "live": LIVE,
    "waiting": ("available", "scheduled", "retryable"),
    "available": ("available",),
    "available and completed": ("available", "completed"),
}
# The state in which each of support.holders leaves the job; one that was deleted is in none.
AFTER = {"available_again": "available", "released": "available", "snoozed": "scheduled", "running_again": "running", "deleted": None}


@pytest.fixture
def name(request):
    """A key and a queue of this case's own, for tests that share a database."""
    return request.node.name


@pytest.mark.parametrize("by", ["enqueue", "enqueue_many", "enqueue_if_new"])
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
@pytest.mark.parametrize("states", SETS.values(), ids=SETS.keys())
def test_a_second_enqueue_is_a_duplicate_in_the_states_that_are_named(module_conn, name, states, state, by):
    holder = state(module_conn, states, name)
    if by == "enqueue":
        second = ask(module_conn, states, name)
        created = second != holder
    elif by == "enqueue_many":
        job = {"kind": "work", "queue": name, "unique_key": name} | held(states)
        [(_, second, created)] = enqueue_many(module_conn, [job])
    else:
        [(second, created)] = call(module_conn, "enqueue_if_new", kind="work", queue=name, unique_key=name, **held(states))
    assert created == (second != holder)
    assert created == (AFTER.get(state.__name__, state.__name__) not in states)
    assert ask(module_conn, states, name) == second, "whichever it is, it holds the key now"


def test_the_states_are_kept_with_the_job_and_in_history(conn):
    job_id = ask(conn, SUCCESSFUL)
    row = rows.live(conn, job_id)
    assert (set(row.unique_states), row.unique_mode) == (set(SUCCESSFUL), None)
    assert conn.execute("SELECT mode, states FROM turnstile.unique_key").fetchone() == (None, row.unique_states)
    complete(conn, claim_next(conn, "k"))
    assert rows.finished(conn, job_id).unique_states == row.unique_states


def test_after_its_window_no_job_holds_its_key(conn):
    holder = holders.completed(conn, SUCCESSFUL)
    conn.execute("UPDATE turnstile.unique_key SET expires_at = now() - interval '1 second'")
    assert ask(conn, SUCCESSFUL) != holder


def test_live_states_need_no_window(conn):
    holder = enqueue(conn, unique_key="k", unique_states=list(LIVE))
    assert enqueue(conn, unique_key="k", unique_states=list(LIVE)) == holder
    assert rows.live(conn, holder).unique_until is None


def test_a_job_that_history_has_forgotten_holds_no_key(conn):
    holder = holders.completed(conn, SUCCESSFUL)
    conn.execute("DELETE FROM turnstile.job_history")
    assert ask(conn, SUCCESSFUL) != holder


def test_the_holder_decides_how_long_it_holds(conn):
    holder = holders.completed(conn, SUCCESSFUL)
    assert ask(conn, "until_executed") == ask(conn, "replace") == ask(conn, ("available",)) == holder


def test_of_a_job_that_ended_twice_the_last_end_counts(conn):
    holder = holders.completed(conn, SUCCESSFUL)
    assert retry(conn, holder) == "available"
    assert ask(conn, SUCCESSFUL) == holder
    discard(conn, claim_next(conn, "k"))
    assert ask(conn, SUCCESSFUL) != holder


def test_a_job_brought_back_takes_its_key_again_unless_another_holds_it(conn):
    job_id = holders.discarded(conn, SUCCESSFUL)
    second = ask(conn, SUCCESSFUL)
    with refused(WRONG_STATE):
        retry(conn, job_id)
    discard(conn, claim_next(conn, "k"))
    assert retry(conn, job_id) == "available"
    assert ask(conn, SUCCESSFUL) == job_id != second


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "ROLLBACK TO SAVEPOINT s"])
@pytest.mark.parametrize("states", [SETS["waiting"], SETS["available and completed"]], ids=["waiting", "available and completed"])
def test_a_job_that_a_producer_relies_on_is_not_started_before_it_ends(conn, other, states, end):
    """Where its start ends the hold: it would not see what the producer has written."""
    holder = ask(conn, states)
    another = enqueue(conn, queue="k")
    conn.execute("BEGIN; SAVEPOINT s")
    assert ask(conn, states) == holder
    assert ids(claim_all(other, "k")) == [another]
    conn.execute(end)
    assert ids(claim_all(other, "k")) == [holder]
    conn.execute("ROLLBACK")


def test_a_completed_holder_is_found_in_a_transaction_too(conn):
    holder = holders.completed(conn, SETS["available and completed"])
    conn.execute("BEGIN")
    assert ask(conn, SETS["available and completed"]) == holder
    conn.execute("COMMIT")


def test_a_job_that_runs_on_holds_its_key_as_long(conn, other):
    holder = ask(conn, LIVE)
    conn.execute("BEGIN")
    assert ask(conn, LIVE) == holder
    assert claim_next(other, "k").id == holder
    conn.execute("COMMIT")


def test_a_savepoint_rolled_back_gives_the_key_back(conn):
    conn.execute("BEGIN; SAVEPOINT s")
    lost = ask(conn, SUCCESSFUL)
    conn.execute("ROLLBACK TO s")
    kept = ask(conn, SUCCESSFUL)
    conn.execute("COMMIT")
    assert kept != lost
    assert ask(conn, SUCCESSFUL) == kept


def test_two_producers_at_once_get_one_job(conn, other):
    other.execute("SET lock_timeout = '100 ms'")
    conn.execute("BEGIN")
    holder = ask(conn, SUCCESSFUL)
    with pytest.raises(Exception, match="lock timeout"):
        ask(other, SUCCESSFUL)
    conn.execute("COMMIT")
    assert ask(other, SUCCESSFUL) == holder


def test_keys_that_may_still_hold_are_not_pruned(conn):
    holders.completed(conn, SUCCESSFUL, "kept")
    holders.completed(conn, SUCCESSFUL, "over")
    holders.completed(conn, LIVE, "gone")
    conn.execute("UPDATE turnstile.unique_key SET expires_at = now() - interval '1 second' WHERE key = 'over'")
    while call(conn, "prune_unique_keys")[0][0]:
        pass
    assert conn.execute("SELECT key FROM turnstile.unique_key").fetchall() == [("kept",)]


def test_a_failed_run_that_waits_may_be_ignored(conn):
    states = ("available", "scheduled", "running")
    holder = ask(conn, states)
    fail(conn, claim_next(conn, "k"), retry_in="1 hour")
    assert ask(conn, states) != holder


def test_children_and_batches_have_them_too(conn):
    [(job_id,)] = call(conn, "enqueue_batch", kind="report", children='[{"kind": "part", "unique_key": "c", "unique_states": ["available"]}]',
                       unique_key="b", unique_states=list(LIVE))  # fmt: skip
    assert set(rows.live(conn, job_id).unique_states) == set(LIVE)
    assert claim_next(conn).kind == "part"
    assert call(conn, "enqueue_batch", kind="report", unique_key="b") == [(job_id,)]


BAD = {
    "none": [], "an unknown one": ["available", "asleep"], "without available": ["running"],
    "one in the wrong case": ["Available"], "a comma": ["available,running"],
}  # fmt: skip


@pytest.mark.parametrize("states", BAD.values(), ids=BAD.keys())
def test_states_that_make_no_sense_are_refused(module_conn, states):
    with refused(BAD_VALUE):
        enqueue(module_conn, unique_key="k", unique_states=states)
    with refused(BAD_VALUE):
        enqueue_many(module_conn, [{"kind": "work", "unique_key": "k", "unique_states": states}])


def test_a_null_among_them_is_refused(module_conn):
    with refused(NULL_VALUE):
        enqueue(module_conn, unique_key="k", unique_states=["available", None])
    with refused(NULL_VALUE):
        enqueue_many(module_conn, [{"kind": "work", "unique_key": "k", "unique_states": ["available", None]}])


@pytest.mark.parametrize("mode", ["until_executed", "replace"])
def test_a_mode_beside_them_is_refused(module_conn, mode):
    with refused(BAD_VALUE):
        enqueue(module_conn, unique_key="k", unique_mode=mode, unique_states=["available"])
    with refused(BAD_VALUE):
        enqueue_many(module_conn, [{"kind": "work", "unique_key": "k", "unique_mode": mode, "unique_states": ["available"]}])


def test_finished_states_need_a_window(module_conn):
    with refused(BAD_VALUE):
        enqueue(module_conn, unique_key="k", unique_states=list(SUCCESSFUL))


def test_a_state_that_was_set_by_hand_and_is_none_counts_for_nothing(conn):
    holder = ask(conn, LIVE)
    conn.execute("UPDATE turnstile.unique_key SET states = '{asleep,running,NULL}'")
    assert ask(conn, LIVE) != holder
