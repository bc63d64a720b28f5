"""Unique keys as gates: jobs of while_executing and until_and_while_executing run one at a time for each key."""

import pytest

from support import holders, rows
from support.calls import Run, claim, claim_all, claim_next, complete, complete_and_claim_next, discard, enqueue, fail, ids
from support.holders import ask

ALONE = ["while_executing", "until_and_while_executing"]


def test_jobs_with_one_key_run_one_after_another(conn):
    made = [ask(conn, "while_executing") for _ in range(3)]
    assert len(set(made)) == 3
    for expected in made:
        [job] = claim(conn, ["k"], 10)
        assert job.id == expected
        assert claim_next(conn, "k") is None
        assert complete(conn, job)


@pytest.mark.parametrize("mode", ["until_executing", "until_executed", "until_expired", "replace"])
def test_other_modes_let_jobs_with_one_key_run_together(conn, mode):
    conn.execute("INSERT INTO turnstile.job (kind, unique_key, unique_mode) VALUES ('a', 'k', %s), ('b', 'k', %s)", [mode] * 2)
    assert len(claim_all(conn)) == 2


def test_the_gate_is_the_same_across_queues_priorities_and_both_modes(conn):
    first = ask(conn, "while_executing", priority=5)
    second = enqueue(conn, queue="other", unique_key="k", unique_mode="until_and_while_executing")
    run = claim_next(conn, "k")
    assert (run.id, claim_next(conn, "other")) == (first, None)
    assert complete_and_claim_next(conn, run, queue="other").id == second


def test_the_gate_is_scoped_to_the_tenant_and_the_key(conn):
    names = [(tenant, key) for tenant in (None, "a", "b") for key in ("k", "l")]
    made = [enqueue(conn, unique_key=key, unique_mode="while_executing", tenant=tenant) for tenant, key in names]
    assert ids(claim_all(conn)) == made


def test_a_waiting_job_hides_no_other(conn):
    first, second = ask(conn, "while_executing"), ask(conn, "while_executing")
    plain = enqueue(conn, queue="k")
    assert ids(claim_all(conn, "k")) == [first, plain]
    assert rows.live(conn, second).state == "available"


@pytest.mark.parametrize("end", [complete, discard, lambda conn, run: fail(conn, run, retry_in="1 day")])
def test_one_more_run_after_three_enqueues_meanwhile(conn, end):
    holder = holders.running(conn, "until_and_while_executing")
    second, *others = [ask(conn, "until_and_while_executing") for _ in range(3)]
    assert others == [second, second] != [holder, holder]
    assert claim_next(conn, "k") is None
    end(conn, Run(holder, 1))
    assert ids(claim_all(conn, "k")) == [second]


def test_a_job_to_be_retried_waits_for_the_one_that_runs(conn):
    holder = ask(conn, "until_and_while_executing")
    fail(conn, claim_next(conn, "k"), retry_in="0 seconds")
    second = ask(conn, "until_and_while_executing")
    assert second != holder
    run = claim_next(conn, "k")
    assert claim_next(conn, "k") is None
    assert complete(conn, run)
    assert {run.id, claim_next(conn, "k").id} == {holder, second}


@pytest.mark.parametrize("mode", ALONE)
def test_a_direct_insert_passes_the_gate_too(conn, mode):
    insert = "INSERT INTO turnstile.job (kind, unique_key, unique_mode) SELECT 'a', 'k', %s FROM generate_series(1, 3)"
    conn.execute(insert, [mode])
    assert len(claim_all(conn)) == 1
    conn.execute("UPDATE turnstile.job SET unique_key = NULL WHERE state = 'available'")
    assert len(claim_all(conn)) == 2


def test_a_deleted_run_lets_the_next_one_start(conn):
    holder = holders.running(conn, "while_executing")
    second = ask(conn, "while_executing")
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [holder])
    assert claim_next(conn, "k").id == second


def test_a_claim_rolled_back_lets_the_next_one_start(conn, other):
    holder = ask(conn, "while_executing")
    ask(conn, "while_executing")
    conn.execute("BEGIN")
    assert claim_next(conn, "k").id == holder
    assert claim_next(other, "k") is None
    conn.execute("ROLLBACK")
    assert claim_next(other, "k").id == holder


def test_the_gate_holds_after_a_rebuild(conn):
    holders.running(conn, "while_executing")
    second = ask(conn, "while_executing")
    conn.execute("SELECT turnstile.rebuild()")
    assert claim_next(conn, "k") is None
    conn.execute("DELETE FROM turnstile.job WHERE state = 'running'")
    conn.execute("SELECT turnstile.rebuild()")
    assert claim_next(conn, "k").id == second


def test_a_session_keeps_its_order_behind_the_gate(conn):
    ask(conn, "while_executing")
    run = claim_next(conn, "k")
    blocked = ask(conn, "while_executing", session="s")
    follower = enqueue(conn, queue="k", session="s")
    assert claim_next(conn, "k") is None
    assert complete(conn, run)
    first = claim_next(conn, "k")
    assert first.id == blocked
    assert complete_and_claim_next(conn, first).id == follower
