"""Unique keys: which enqueue is a duplicate of which job, in every mode and every state of the holder."""

import contextlib
import time

import pytest
from psycopg.types.json import Jsonb

from support import holders, rows
from support.calls import call, claim_all, claim_next, complete, enqueue, enqueue_many, fail, ids
from support.errors import BAD_VALUE, NULL_VALUE, TOO_LONG, refused
from support.holders import MODES, STATES, ask

# In which states of the holder a second enqueue of the same mode gets the holder's id.
WAITING = {"available", "scheduled", "released", "snoozed"}
RETRYING = {"retryable", "available_again"}
RUNNING = {"running", "running_again"}
ALL = {state.__name__ for state in STATES}
DUPLICATE = {
    "until_executing": WAITING,
    "until_executed": WAITING | RETRYING | RUNNING,
    "until_expired": ALL,
    "while_executing": set(),
    "until_and_while_executing": WAITING,
    "replace": WAITING | RETRYING,
}
CASES = [(mode, state) for mode in MODES for state in STATES]


@pytest.fixture
def name(request):
    """A key and a queue of this case's own, for tests that share a database."""
    return request.node.name


@pytest.mark.parametrize("by", ["enqueue", "enqueue_if_new", "enqueue_many"])
@pytest.mark.parametrize(("mode", "state"), CASES, ids=[f"{mode} {state.__name__}" for mode, state in CASES])
def test_a_second_enqueue_is_a_duplicate_exactly_where_the_mode_says(module_conn, name, mode, state, by):
    holder = state(module_conn, mode, name)
    if by == "enqueue":
        second = ask(module_conn, mode, name)
        created = second != holder
    elif by == "enqueue_if_new":
        asked = {"queue": name, "unique_key": name, "unique_mode": mode} | holders.WINDOW.get(mode, {})
        [(second, created)] = call(module_conn, "enqueue_if_new", kind="work", **asked)
        assert created == (second != holder)
    else:
        job = {"kind": "work", "queue": name, "unique_key": name, "unique_mode": mode} | holders.WINDOW.get(mode, {})
        [(_, second, created)] = enqueue_many(module_conn, [job])
        assert created == (second != holder)
    assert created == (state.__name__ not in DUPLICATE[mode])
    third = ask(module_conn, mode, name)
    if mode == "while_executing":
        assert third not in (holder, second)
    else:
        assert third == second, "whichever it is, it holds the key now"


@pytest.mark.parametrize("state", STATES)
def test_after_its_window_no_job_holds_its_key(module_conn, name, state):
    holder = state(module_conn, "until_executed", name)
    module_conn.execute("UPDATE turnstile.unique_key SET expires_at = now() - interval '1 second'")
    second = ask(module_conn, "until_executed", name)
    assert second != holder
    assert ask(module_conn, "until_executed", name) == second


def test_a_window_opens_with_the_first_enqueue_and_not_with_a_duplicate(conn):
    holder = ask(conn, "until_executed", unique_for="1 hour")
    ends = "SELECT expires_at FROM turnstile.unique_key"
    before = conn.execute(ends).fetchone()
    assert ask(conn, "until_executed", unique_for="2 hours") == holder
    assert conn.execute(ends).fetchone() == before == (rows.live(conn, holder).unique_until,)


def test_a_duplicate_leaves_the_holder_as_it_is(conn):
    holder = ask(conn, "until_executed", payload={"n": 1}, priority=3)
    before = rows.live(conn, holder)
    assert ask(conn, "until_executed", payload={"n": 2}, priority=1, run_at="2100-01-01") == holder
    assert rows.live(conn, holder) == before


def test_keys_are_scoped_to_the_tenant(conn):
    made = [enqueue(conn, unique_key="k", tenant=tenant) for tenant in (None, "a", "b")]
    assert len(set(made)) == 3
    assert [enqueue(conn, unique_key="k", tenant=tenant) for tenant in (None, "a", "b")] == made


def test_keys_do_not_depend_on_queue_or_kind(conn):
    assert enqueue(conn, "a", unique_key="k", queue="x") == enqueue(conn, "b", unique_key="k", queue="y")


def test_a_replaced_job_is_what_was_asked_for_last(conn):
    holder = ask(conn, "replace", payload={"n": 1}, run_at="2100-01-01", priority=5, tenant="t")
    again = {"payload": {"n": 2}, "priority": 1, "metadata": {"m": 1}, "max_attempts": 3, "tenant": "t", "account": "a"}
    assert ask(conn, "replace", **again) == holder
    row = rows.live(conn, holder)
    assert (row.payload, row.priority, row.state, row.metadata, row.max_attempts) == ({"n": 2}, 1, "available", {"m": 1}, 3)
    other = enqueue(conn, queue="k", priority=2)
    assert ids(claim_all(conn, "k")) == [holder, other]


def test_a_replaced_job_can_be_put_off(conn):
    holder = ask(conn, "replace", payload={"n": 1})
    ask(conn, "replace", payload={"n": 2}, run_at="2100-01-01")
    assert rows.live(conn, holder).state == "scheduled"
    assert claim_next(conn, "k") is None


def test_a_replaced_job_keeps_its_place(conn):
    first = ask(conn, "replace")
    second = enqueue(conn, queue="k")
    assert ask(conn, "replace", payload={"n": 2}) == first
    assert ids(claim_all(conn, "k")) == [first, second]


def test_a_replaced_failure_starts_afresh(conn):
    holder = ask(conn, "replace", payload={"n": 1}, max_attempts=1)
    assert fail(conn, claim_next(conn, "k"), retry_in="0 seconds", discard=False) == "discarded"
    holder = ask(conn, "replace", payload={"n": 1}, max_attempts=2)
    fail(conn, claim_next(conn, "k"), retry_in="1 day")
    assert ask(conn, "replace", payload={"n": 2}, max_attempts=2) == holder
    job = claim_next(conn, "k")
    assert (job.id, job.attempt, job.payload, job.max_attempts) == (holder, 2, {"n": 2}, 3)
    assert fail(conn, job, retry_in="1 day") == "retryable"


def test_replace_leaves_a_running_holder_alone_and_one_more_waits(conn):
    holder = ask(conn, "replace", payload={"n": 1})
    run = claim_next(conn, "k")
    second = ask(conn, "replace", payload={"n": 2})
    assert ask(conn, "replace", payload={"n": 3}, priority=4) == second != holder
    assert rows.live(conn, holder).payload == {"n": 1}
    assert (rows.live(conn, second).payload, rows.live(conn, second).priority) == ({"n": 3}, 4)
    assert complete(conn, run)
    assert ids(claim_all(conn, "k")) == [second]


@pytest.mark.parametrize("mode", MODES)
def test_a_retried_job_never_conflicts_with_itself(conn, mode):
    holder = ask(conn, mode)
    for _ in range(3):
        fail(conn, claim_next(conn, "k"), retry_in="0 seconds")
    job = claim_next(conn, "k")
    assert (job.id, job.attempt) == (holder, 4)
    assert complete(conn, job)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "until_expired"])
def test_a_key_given_up_and_taken_many_times_has_one_row(conn, mode):
    for _ in range(5):
        ask(conn, mode)
        complete(conn, claim_next(conn, "k"))
    [count] = conn.execute("SELECT count(*) FROM turnstile.unique_key").fetchone()
    assert count == (0 if mode == "while_executing" else 1)


def test_the_holders_mode_decides_how_long_it_holds(conn):
    holder = ask(conn, "until_executed")
    claim_next(conn, "k")
    assert ask(conn, "until_executing") == ask(conn, "replace") == holder
    assert ask(conn, "while_executing") != holder


def test_whoever_takes_the_key_from_a_job_by_hand_frees_it(conn):
    holder = ask(conn, "until_executed")
    conn.execute("UPDATE turnstile.job SET unique_key = NULL")
    assert ask(conn, "until_executed") != holder


def test_a_direct_insert_takes_no_key(conn):
    conn.execute("INSERT INTO turnstile.job (kind, unique_key, unique_mode) VALUES ('a', 'k', 'until_executed')")
    second = ask(conn, "until_executed")
    assert rows.live(conn, second).unique_key == "k"


@pytest.mark.parametrize("bad", ["unique_mode = 'sometimes'", "unique_key = ''", "unique_key = repeat('k', 256)"])
def test_a_row_with_a_senseless_key_is_refused(conn, bad):
    enqueue(conn)
    with refused("23514"):
        conn.execute(f"UPDATE turnstile.job SET {bad}")


@pytest.mark.parametrize("mode", ["until_executing", "until_and_while_executing", "replace", "until_executed"])
def test_a_holder_with_more_uncounted_attempts_than_attempts_waits(conn, mode):
    """Direct DML may say so: it has not been started."""
    holder = ask(conn, mode)
    conn.execute("UPDATE turnstile.job SET uncounted = 3")
    assert ask(conn, mode) == holder
    assert conn.execute("SELECT id, state FROM turnstile.job").fetchall() == [(holder, "available")]


@pytest.mark.parametrize("tables", ["turnstile.job", "turnstile.job, turnstile.unique_key", "turnstile.unique_key, turnstile.job"])
def test_a_truncated_table_leaves_no_key_taken(conn, tables):
    holder = ask(conn, "until_expired")
    conn.execute(f"TRUNCATE {tables} RESTART IDENTITY")
    enqueue(conn)
    assert ask(conn, "until_expired") != holder


# Transactions


def test_an_uncommitted_job_holds_its_key_for_its_own_transaction(conn):
    conn.execute("BEGIN")
    holder = ask(conn, "until_executing")
    assert ask(conn, "until_executing") == holder
    conn.execute("COMMIT")
    assert ids(claim_all(conn, "k")) == [holder]


def test_a_savepoint_rolled_back_gives_the_key_back(conn):
    conn.execute("BEGIN")
    for _ in range(3):
        conn.execute("SAVEPOINT s")
        lost = ask(conn, "until_executed")
        conn.execute("ROLLBACK TO SAVEPOINT s")
    kept = ask(conn, "until_executed")
    conn.execute("SAVEPOINT s")
    assert ask(conn, "until_executed") == kept != lost
    conn.execute("ROLLBACK TO SAVEPOINT s; COMMIT")
    assert ids(claim_all(conn, "k")) == [kept]
    assert ask(conn, "until_executed") == kept


def test_a_rolled_back_successor_leaves_the_key_as_it_was(conn):
    holder = holders.running(conn, "until_executing")
    conn.execute("BEGIN")
    second = ask(conn, "until_executing")
    conn.execute("ROLLBACK")
    assert conn.execute("SELECT job_id FROM turnstile.unique_key").fetchall() == [(holder,)]
    assert ask(conn, "until_executing") not in (holder, second)


@pytest.mark.parametrize("mode", ["until_executing", "until_and_while_executing", "replace"])
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "ROLLBACK TO SAVEPOINT s"])
def test_a_job_that_a_producer_relies_on_is_not_started_before_it_ends(conn, other, mode, end):
    holder = ask(conn, mode)
    another = enqueue(conn, queue="k")
    conn.execute("BEGIN; SAVEPOINT s")
    assert ask(conn, mode) == holder
    assert ids(claim_all(other, "k")) == [another]
    conn.execute(end)
    assert ids(claim_all(other, "k")) == [holder]
    conn.execute("ROLLBACK")


@pytest.mark.parametrize("mode", ["until_executed", "until_expired"])
def test_a_duplicate_that_nothing_depends_on_locks_nothing(conn, other, mode):
    holder = ask(conn, mode)
    conn.execute("BEGIN")
    assert ask(conn, mode) == holder
    assert claim_next(other, "k").id == holder
    conn.execute("COMMIT")


def test_two_producers_rely_on_one_job_at_the_same_time(conn, other):
    holder = ask(conn, "until_executing")
    conn.execute("BEGIN")
    other.execute("BEGIN")
    assert ask(conn, "until_executing") == ask(other, "until_executing") == holder
    conn.execute("COMMIT")
    assert claim_next(conn, "k") is None
    other.execute("COMMIT")
    assert claim_next(conn, "k").id == holder


def test_an_open_producer_blocks_no_other_key(conn, other):
    conn.execute("BEGIN")
    ask(conn, "until_executed")
    other.execute("SET lock_timeout = '2s'")
    enqueue(other, unique_key="l")
    enqueue(other, unique_key="k", tenant="another")
    conn.execute("COMMIT")


# enqueue_many


def test_duplicates_within_an_array_get_the_first_ones_id(conn):
    jobs = [{"kind": "work", "unique_key": key} if key else {"kind": "work"} for key in ("b", None, "a", "b", "a", None, "b")]
    made = enqueue_many(conn, jobs)
    assert [row.ord for row in made] == [1, 2, 3, 4, 5, 6, 7]
    assert [row.created for row in made] == [True, True, True, False, False, True, False]
    first, plain, second, again, *_ = ids(made)
    assert ids(made) == [first, plain, second, first, second, made[5].id, first]
    assert ids(claim_all(conn)) == [first, plain, second, made[5].id], "in the order given"


def test_an_array_meets_the_keys_that_are_held(conn):
    holder = enqueue(conn, unique_key="k", tenant="a")
    jobs = [{"kind": "work", "unique_key": "k", "tenant": tenant} for tenant in ("a", "b", None, "a")]
    made = enqueue_many(conn, jobs)
    assert [row.created for row in made] == [False, True, True, False]
    assert made[0].id == made[3].id == holder


def test_the_last_replacement_of_an_array_wins(conn):
    jobs = [{"kind": "work", "unique_key": "k", "unique_mode": "replace", "payload": {"n": n}} for n in range(3)]
    made = enqueue_many(conn, jobs)
    assert [row.created for row in made] == [True, False, False]
    assert claim_next(conn).payload == {"n": 2}


def test_windows_and_columns_can_be_given_in_an_array(conn):
    job = {"kind": "work", "payload": {"a": 1}, "unique_by": ["kind", "payload"], "unique_for": "1 hour"}
    made = enqueue_many(conn, [job, job | {"payload": {"a": 2}}, job])
    assert [row.created for row in made] == [True, True, False]
    assert enqueue(conn, payload={"a": 1}, unique_by=["payload", "kind"]) == made[0].id


ELEMENTS = [
    ({"unique_key": ""}, BAD_VALUE), ({"unique_key": 7}, BAD_VALUE), ({"unique_key": "k" * 256}, TOO_LONG),
    ({"unique_by": "kind"}, BAD_VALUE), ({"unique_by": []}, BAD_VALUE), ({"unique_by": ["colour"]}, BAD_VALUE),
    ({"unique_by": [None]}, NULL_VALUE), ({"unique_by": ["kind"], "unique_key": "k"}, BAD_VALUE),
    ({"unique_for": "1 hour"}, BAD_VALUE), ({"unique_key": "k", "unique_for": "soon"}, BAD_VALUE),
    ({"unique_key": "k", "unique_for": "0 seconds"}, BAD_VALUE), ({"unique_key": "k", "unique_for": 7}, BAD_VALUE),
    ({"unique_key": "k", "unique_for": "9999999999 years"}, BAD_VALUE),
    ({"unique_key": "k", "unique_mode": "until_expired"}, BAD_VALUE),
    ({"unique_key": "k", "unique_mode": "while_executing", "unique_for": "1 hour"}, BAD_VALUE),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "sqlstate"), ELEMENTS, ids=[str(bad)[:60] for bad, _ in ELEMENTS])
def test_a_senseless_element_is_refused_and_none_is_added(conn, bad, sqlstate):
    with refused(sqlstate):
        enqueue_many(conn, [{"kind": "work", "unique_key": "other"}, {"kind": "work"} | bad])
    assert rows.everything(conn) == []
    assert conn.execute("SELECT count(*) FROM turnstile.unique_key").fetchone() == (0,)


# Keys made of columns


def test_a_key_made_of_columns_is_the_same_where_they_are(conn):
    base = {"payload": {"a": 1, "b": [1, 2]}, "queue": "q", "tenant": "s", "account": "x", "session": "y", "concurrency_key": "z"}
    columns = ["kind", "payload", "queue", "account", "session", "concurrency_key"]
    holder = enqueue(conn, **base, unique_by=columns)
    assert enqueue(conn, **base | {"payload": {"b": [1, 2], "a": 1}}, unique_by=list(reversed(columns))) == holder
    for change in ({"payload": {"a": 2}}, {"queue": "r"}, {"account": None}, {"session": "n"}, {"concurrency_key": "n"}):
        assert enqueue(conn, **base | change, unique_by=columns) != holder
    assert enqueue(conn, "else", **base, unique_by=columns) != holder
    assert enqueue(conn, **base | {"tenant": "t"}, unique_by=columns) != holder, "another tenant's"
    assert enqueue(conn, **base, unique_by=["kind"]) != holder


def test_names_do_not_run_into_each_other_in_a_key(conn):
    assert enqueue(conn, "ab", queue="c", unique_by=["kind", "queue"]) != enqueue(
        conn, "a", queue="bc", unique_by=["kind", "queue"]
    )


# prune_unique_keys


def _pruned(conn, expected: int) -> int:
    """How many keys go in the end: an autovacuum worker's snapshot may keep some for a moment."""
    pruned, give_up = 0, time.monotonic() + 60
    while True:
        pruned += call(conn, "prune_unique_keys")[0][0]
        if pruned >= expected or time.monotonic() > give_up:
            return pruned + call(conn, "prune_unique_keys")[0][0]
        time.sleep(0.05)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "while_executing"])
def test_pruning_forgets_only_what_makes_no_difference(conn, mode):
    made = {state.__name__: state(conn, mode, state.__name__) for state in STATES}
    gone = set() if mode == "until_expired" else {"completed", "cancelled", "discarded", "deleted"}
    assert _pruned(conn, len(gone)) == len(gone)
    kept = {key for (key,) in conn.execute("SELECT key FROM turnstile.unique_key").fetchall()}
    assert kept == ALL - gone
    assert {state for state in ALL if ask(conn, mode, state) == made[state]} == DUPLICATE[mode]


def test_pruning_forgets_an_expired_key_once_its_holder_is_gone(conn):
    ask(conn, "until_expired")
    conn.execute("UPDATE turnstile.unique_key SET expires_at = now() - interval '1 second'")
    assert call(conn, "prune_unique_keys")[0][0] == 0
    complete(conn, claim_next(conn, "k"))
    assert _pruned(conn, 1) == 1


def test_pruning_takes_no_more_than_it_is_told(conn):
    for key in "abcde":
        enqueue(conn, unique_key=key)
    conn.execute("DELETE FROM turnstile.job")
    counts = []
    while sum(counts) < 5:
        counts.append(call(conn, "prune_unique_keys", max_keys=2)[0][0])
        time.sleep(0.01)
    assert max(counts) == 2


def test_pruning_leaves_what_an_old_snapshot_may_see(conn, other):
    ask(conn, "until_executed")
    complete(conn, claim_next(conn, "k"))
    other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    other.execute("SELECT 1")
    ask(conn, "until_executed", "later")
    complete(conn, claim_next(conn, "later"))
    assert _pruned(conn, 1) == 1, "the one that was there before the snapshot"
    assert conn.execute("SELECT key FROM turnstile.unique_key").fetchall() == [("later",)]
    other.execute("COMMIT")
    assert _pruned(conn, 1) == 1


def test_pruning_passes_over_a_key_that_is_being_taken(conn, other):
    ask(conn, "until_executed")
    complete(conn, claim_next(conn, "k"))
    conn.execute("BEGIN")
    ask(conn, "until_executed")
    assert call(other, "prune_unique_keys")[0][0] == 0
    conn.execute("COMMIT")


# Privileges and leaks


def test_a_producer_needs_no_right_on_the_table_of_keys(conn, other, role):
    conn.execute("SELECT turnstile.allow_producer(%s::text::regrole)", [role])
    other.execute(f"SET ROLE {role}")
    assert ask(other, "until_executed") == ask(other, "until_executed")
    with contextlib.suppress(Exception):
        other.execute("SELECT * FROM turnstile.unique_key")
        raise AssertionError("the keys of all tenants can be read")


def test_a_payload_of_any_size_makes_a_key(conn):
    big = Jsonb({"text": "x" * 500_000})
    query = "SELECT turnstile.enqueue('work', %s, unique_by => ARRAY['payload'])"
    assert conn.execute(query, [big]).fetchone() == conn.execute(query, [big]).fetchone()
