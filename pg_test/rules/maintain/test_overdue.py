"""Queues that nobody claims from: a background worker promotes and rescues for them, and then ends."""

import time

import pytest

from support import rows
from support.calls import claim_next, enqueue
from support.lapse import EXPIRED, WORKERS, errors, until

PAST = "INSERT INTO turnstile.job (kind, queue, state, run_at) VALUES ('due', 'left alone', 'scheduled', '2000-01-01') RETURNING id"
PATIENCE = 60


@pytest.fixture(autouse=True)
def _memory_is_ready(conn):
    claim_next(conn, "another queue")


def _due(conn) -> int:
    return conn.execute(PAST).fetchone()[0]


def _until_none(conn, query: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while conn.execute(query).fetchone()[0]:
        assert time.monotonic() < give_up, f"still some: {query}"
        time.sleep(0.02)


def test_a_due_job_of_a_queue_without_claims_is_promoted(conn):
    until(conn, _due(conn), "available")


def test_an_expired_run_of_a_queue_without_claims_is_rescued(conn):
    enqueue(conn)
    run = claim_next(conn, lease="100 milliseconds")
    until(conn, run.id, "retryable")
    assert errors(conn, run.id) == [EXPIRED]


def test_the_worker_ends_when_nothing_is_overdue(conn):
    until(conn, _due(conn), "available")
    _until_none(conn, WORKERS)


def test_all_of_many_jobs_and_many_queues_are_promoted(conn):
    conn.execute(
        "INSERT INTO turnstile.job (kind, queue, state, run_at)"
        " SELECT 'due', 'q' || n % 100, 'scheduled', '2000-01-01' FROM generate_series(1, 3000) n"
    )
    _until_none(conn, "SELECT count(*) FROM turnstile.job WHERE state = 'scheduled'")


def test_the_worker_gives_up_where_the_table_is_locked_and_comes_again(conn, other):
    job_id = _due(other)
    other.execute("BEGIN; LOCK TABLE turnstile.job IN SHARE ROW EXCLUSIVE MODE")
    conn.execute("SELECT pg_sleep(2.5)")
    assert rows.state(conn, job_id) == "scheduled"
    other.execute("COMMIT")
    until(conn, job_id, "available")


def test_a_trigger_that_fails_is_survived(conn):
    conn.execute(
        "CREATE FUNCTION public.fails() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END';"
        " CREATE TRIGGER fails BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.fails()"
    )
    try:
        job_id = _due(conn)
        conn.execute("SELECT pg_sleep(2.5)")
        assert rows.state(conn, job_id) == "scheduled"
    finally:
        conn.execute("DROP TRIGGER fails ON turnstile.job; DROP FUNCTION public.fails()")
    until(conn, job_id, "available")


@pytest.mark.parametrize("timing", ["BEFORE UPDATE ON", "AFTER UPDATE ON", "DEFERRED"])
def test_triggers_run_as_the_owner_of_the_jobs(conn, timing):
    """The worker's process is a superuser's, which a user's code must not get at."""
    kind, deferral = ("CONSTRAINT TRIGGER", "DEFERRABLE INITIALLY DEFERRED") if timing == "DEFERRED" else ("TRIGGER", "")
    timing = "AFTER UPDATE ON" if timing == "DEFERRED" else timing
    conn.execute(
        "CREATE TABLE public.seen (role name, path text);"
        " CREATE FUNCTION public.sees() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN INSERT INTO public.seen VALUES (current_user, current_setting(''search_path''));"
        "  PERFORM set_config(''role'', ''none'', true); RETURN new;"
        "  EXCEPTION WHEN insufficient_privilege THEN"
        "  INSERT INTO public.seen VALUES (current_user, current_setting(''search_path'')); RETURN new; END';"
        f" CREATE {kind} sees {timing} turnstile.job {deferral} FOR EACH ROW EXECUTE FUNCTION public.sees()"
    )
    try:
        until(conn, _due(conn), "available")
        owner = conn.execute("SELECT relowner::regrole::text FROM pg_class WHERE oid = 'turnstile.job'::regclass").fetchone()[0]
        assert conn.execute("SELECT DISTINCT role, path FROM public.seen").fetchall() == [(owner, "pg_catalog, pg_temp")]
    finally:
        conn.execute("DROP TRIGGER sees ON turnstile.job; DROP FUNCTION public.sees(); DROP TABLE public.seen")
