"""What a dispatcher tells the server of hosts: it holds up nobody, and no answer is lost over it."""

import psycopg

from support.calls import call, enqueue, enqueue_many
from support.dispatch import set_endpoint
from support.ended import await_counts, await_state, result
from support.sleepers import until

UPDATES = "SELECT n_tup_upd + n_tup_ins FROM pg_catalog.pg_stat_user_tables WHERE relid = 'turnstile.slowed_key'::regclass"
LOCK = "SELECT FROM turnstile.slowed_key WHERE key = %s FOR UPDATE"
ON_TRIAL = "SELECT true FROM turnstile.slowed_key WHERE key = %s AND one_at_a_time"
SOON = {"retry_base": "50 milliseconds", "retry_cap": "50 milliseconds"}


def key_of(endpoints, name: str) -> str:
    return f"host:{endpoints.host(name)}"


def begin_trial(conn, endpoints) -> None:
    enqueue_many(conn, [{"kind": "bad", "payload": {"how": "failure"}, "max_attempts": 1}] * 3)
    until(lambda: conn.execute(ON_TRIAL, [key_of(endpoints, "failing")]).fetchone(), "the host is on trial")
    await_counts(conn, discarded=3)


def test_a_report_that_waits_for_a_lock_holds_up_no_other_host(conn, dispatch, endpoints):
    set_endpoint(conn, "bad", endpoints.url("failing", "/busy"))
    set_endpoint(conn, "good", endpoints.url("fast"))
    dispatch()
    with psycopg.connect(conn.info.dsn) as other:
        other.execute("SELECT turnstile.pause_concurrency(%s, clock_timestamp() + '1 ms'::interval)", [key_of(endpoints, "failing")])
        enqueue_many(conn, [{"kind": "bad", "payload": {"after": 1}}] * 20)
        until(lambda: len(endpoints.requests) >= 10, "many are told to wait")
        await_state(conn, enqueue(conn, "good"), "completed")
        other.rollback()


def test_hundreds_of_answers_that_say_the_same_are_one_report(conn, dispatch, endpoints):
    set_endpoint(conn, "*", endpoints.url("failing", "/busy"))
    dispatch()
    enqueue_many(conn, [{"kind": "bad", "payload": {"after": 600}}] * 300)
    until(lambda: conn.execute("SELECT true FROM turnstile.slowed_key WHERE paused_until IS NOT NULL").fetchone(), "it is paused")
    until(lambda: "running" not in {row[0] for row in conn.execute("SELECT state FROM turnstile.job")}, "all have their answers")
    # Those of two seconds may be two: a pause that ends a second later is another one.
    until(lambda: conn.execute(UPDATES).fetchone()[0] > 0, "the server has counted")
    assert conn.execute(UPDATES).fetchone()[0] < 30 <= len(endpoints.requests)


def test_an_answer_counts_although_the_stop_comes_while_it_is_told(conn, dispatch, endpoints):
    call(conn, "set_queue", name="*", **SOON)
    set_endpoint(conn, "bad", endpoints.url("failing"), trial_after=2)
    worker = dispatch("--grace", "500ms")
    begin_trial(conn, endpoints)
    with psycopg.connect(conn.info.dsn) as other:
        other.execute(LOCK, [key_of(endpoints, "failing")])
        job = enqueue(conn, "bad", payload={"how": "fast"})
        until(lambda: endpoints.of(job), "it is sent")
        worker.terminate()
        worker.ended()
        other.rollback()
    await_state(conn, job, "completed")
    assert len(endpoints.of(job)) == 1


def test_a_trial_ends_with_the_last_endpoint_of_its_host(conn, dispatch, endpoints):
    set_endpoint(conn, "bad", endpoints.url("failing"), trial_after=2)
    dispatch()
    begin_trial(conn, endpoints)
    set_endpoint(conn, "bad", endpoints.url("slow"))
    assert not conn.execute(ON_TRIAL, [key_of(endpoints, "failing")]).fetchone()


def test_a_result_that_jsonb_cannot_hold_is_left_out(conn, dispatch, endpoints):
    call(conn, "set_queue", name="*", **SOON)
    set_endpoint(conn, "*", endpoints.url("fast", "/ok"), keep_response=True)
    bodies = ['{"a": "\\u0000"}', '"\\ud800"', "1e400000", "[" * 100_000 + "]" * 100_000]
    jobs = [enqueue(conn, payload={"body": body}) for body in bodies]
    good = enqueue(conn, payload={"body": '{"a": 1}'})
    dispatch()
    await_counts(conn, completed=len(bodies) + 1)
    assert [len(endpoints.of(job)) for job in jobs] == [1] * len(bodies)
    assert [result(conn, job) for job in [*jobs, good]] == [*[None] * len(bodies), {"a": 1}]
