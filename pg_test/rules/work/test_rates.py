"""Rates: a token bucket at each gate, which begins full with the rate, empty with the memory, and costs nobody else anything."""

import time

import pytest
from support.attempt import Attempt
from support.buckets import overfull, starts_of
from support.calls import call, claim, claim_all, claim_next, enqueue, enqueue_times, ids
from support.gates import GATES
from support.settings import configure

each_gate = pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())


def _rate(conn, gate, rate, per="1 second", **columns):
    configure(conn, gate.table, *gate.key, rate=rate, rate_per=per, **columns)


def _claim_until_there_is_one(conn, queue="default"):
    while (job := claim_next(conn, queue)) is None:
        time.sleep(0.005)
    return job


@each_gate
def test_a_rate_begins_with_its_burst(db, gate):
    """Also where it is the first that the database does."""
    conn = db.connect()
    _rate(conn, gate, 1, "1 hour", burst=3)
    jobs = enqueue_times(conn, 10, **gate.behind)
    assert ids(claim_all(conn, gate.queue)) == jobs[:3]
    assert call(conn, "check") == []


@each_gate
def test_a_rate_that_comes_later_begins_with_its_burst(conn, other, gate):
    jobs = enqueue_times(conn, 20, **gate.behind)
    assert ids(claim(conn, [gate.queue], 5)) == jobs[:5]
    _rate(other, gate, 1, "1 hour", burst=3)
    assert ids(claim_all(conn, gate.queue)) == jobs[5:8]


@each_gate
@pytest.mark.parametrize("none", [None, -1], ids=["inherited", "no limit"])
@pytest.mark.parametrize("is_met", [True, False], ids=["met without", "not met without"])
def test_a_rate_that_is_set_again_begins_with_its_burst(conn, gate, none, is_met):
    _rate(conn, gate, 1, "1 hour", burst=2)
    jobs = enqueue_times(conn, 20, **gate.behind)
    assert ids(claim_all(conn, gate.queue)) == jobs[:2]
    _rate(conn, gate, none)
    if is_met:
        assert claim_next(conn, gate.queue).id == jobs[2]
    _rate(conn, gate, 1, "1 hour", burst=3)
    assert len(claim_all(conn, gate.queue)) == 3


@each_gate
def test_a_rate_of_the_default_begins_with_its_burst_for_each_name(conn, gate):
    configure(conn, gate.table, *gate.default_key, rate=1, rate_per="1 hour", burst=2)
    enqueue_times(conn, 20, **gate.behind)
    assert len(claim_all(conn, gate.queue)) == 2
    configure(conn, gate.table, *gate.key, paused_until=None) if gate.table != "concurrency" else configure(conn, "concurrency", *gate.key, slots=9)
    assert claim_all(conn, gate.queue) == [], "a row that inherits the rate brings none"
    _rate(conn, gate, -1)
    assert claim_next(conn, gate.queue)
    _rate(conn, gate, None, per=None)
    assert len(claim_all(conn, gate.queue)) == 2, "the rate holds again"


def test_a_rate_rolled_back_to_a_savepoint_fills_nothing(conn):
    gate = GATES["tenant"]
    _rate(conn, gate, 1, "1 hour", burst=2)
    enqueue_times(conn, 9, **gate.behind)
    assert len(claim_all(conn)) == 2
    with conn.transaction():
        conn.execute("SAVEPOINT a")
        _rate(conn, gate, -1)
        _rate(conn, gate, 1, "1 hour", burst=5)
        conn.execute("ROLLBACK TO a")
    assert claim_all(conn) == []


def test_what_is_written_as_the_beginning_of_a_rate_is_kept(conn):
    """As a restore does."""
    conn.execute("INSERT INTO turnstile.tenant (name, rate, rate_since) VALUES ('acme', 1, '2020-01-01 00:00+00')")
    begins = "SELECT extract(year FROM rate_since)::int FROM turnstile.tenant WHERE name = 'acme'"
    assert conn.execute(begins).fetchone() == (2020,)
    conn.execute("UPDATE turnstile.tenant SET rate = 2, burst = 4")
    assert conn.execute(begins).fetchone() == (2020,), "it is not where there was none"


@each_gate
def test_others_go_on_past_an_empty_bucket(conn, gate):
    _rate(conn, gate, 1, "1 hour")
    enqueue_times(conn, 10, **gate.behind)
    assert claim_next(conn, gate.queue)
    others = [enqueue(conn), enqueue(conn, tenant="globex")]
    assert ids(claim_all(conn)) == others


@each_gate
def test_starts_keep_to_the_bucket_one_by_one_and_many_at_a_time(conn, gate):
    _rate(conn, gate, 200, "1 second", burst=4)
    jobs = enqueue_times(conn, 40, **gate.behind)
    claimed = []
    while len(claimed) < len(jobs):
        claimed += ids(claim(conn, [gate.queue], 1 if len(claimed) % 2 else 7))
    assert claimed == jobs
    starts = starts_of(conn, gate.behind.get("tenant"))
    assert len(starts) == len(jobs)
    assert overfull(starts, 200, 1_000_000, 4) == []


@each_gate
def test_without_its_rate_a_gate_is_open_at_once(conn, gate):
    _rate(conn, gate, 1, "1 hour")
    jobs = enqueue_times(conn, 3, **gate.behind)
    assert ids(claim_all(conn, gate.queue)) == jobs[:1]
    _rate(conn, gate, None)
    assert ids(claim_all(conn, gate.queue)) == jobs[1:]


@each_gate
def test_another_rate_or_burst_brings_no_tokens(conn, gate):
    _rate(conn, gate, 1, "1 hour", burst=1)
    enqueue_times(conn, 3, **gate.behind)
    assert len(claim_all(conn, gate.queue)) == 1
    _rate(conn, gate, 2, "1 hour", burst=1000)
    assert claim_all(conn, gate.queue) == []


@each_gate
def test_a_rate_rolled_back_never_was(conn, gate):
    jobs = enqueue_times(conn, 3, **gate.behind)
    with conn.transaction(force_rollback=True):
        _rate(conn, gate, 1, "1 hour")
    assert ids(claim_all(conn, gate.queue)) == jobs


@each_gate
def test_the_star_row_gives_each_name_a_bucket_of_its_own(conn, gate):
    configure(conn, gate.table, *gate.default_key, rate=1, rate_per="1 hour")
    enqueue_times(conn, 2, **gate.behind)
    assert len(claim_all(conn, gate.queue)) == 1
    _rate(conn, gate, -1)
    assert claim_next(conn, gate.queue) is not None


def test_a_claim_that_is_rolled_back_has_started_its_job(conn):
    configure(conn, "tenant", "acme", rate=1, rate_per="300 milliseconds")
    enqueue_times(conn, 2, tenant="acme")
    claimed_at = "SELECT claimed_at FROM turnstile.job WHERE id = %s"
    times = []
    for ends in ("ROLLBACK", "COMMIT"):
        conn.execute("BEGIN")
        # Inside a transaction block, too, the clock of the claim is the server's.
        job = _claim_until_there_is_one(conn)
        times += conn.execute(claimed_at, [job.id]).fetchone()
        conn.execute(ends)
    assert (times[1] - times[0]).total_seconds() >= 0.3


def test_room_that_a_claim_did_not_need_costs_no_token(conn):
    configure(conn, "tenant", "acme", rate=1, rate_per="1 second", burst=2)
    enqueue(conn, tenant="acme")
    while not claim(conn, ["default"], 100):
        time.sleep(0.05)
    # Had the claim used up room for 100, or for the whole burst, this job would wait for another token.
    time.sleep(1.1)
    enqueue_times(conn, 2, tenant="acme")
    assert claim(conn, ["default"], 100)


def test_a_rebuild_of_memory_that_has_started_jobs_leaves_no_tokens(conn):
    enqueue_times(conn, 3)
    assert claim_next(conn)
    configure(conn, "queue", "default", rate=1, rate_per="1 hour", burst=5)
    conn.execute("SELECT turnstile.rebuild()")
    assert claim_next(conn) is None


def test_a_rebuild_empties_the_buckets(conn):
    configure(conn, "tenant", "acme", rate=10, rate_per="1 second", burst=5)
    enqueue_times(conn, 12, tenant="acme")
    claimed = 0
    while claimed < 12:
        conn.execute("SELECT turnstile.rebuild()")
        for _ in range(2):
            claimed += len(claim(conn, ["default"], 100))
            time.sleep(0.25)
    assert overfull(starts_of(conn, "acme"), 10, 1_000_000, 5) == []


@pytest.mark.parametrize("table, key", [("queue", "name"), ("tenant", "name"), ("concurrency", "key")])
@pytest.mark.parametrize("nonsense", ["rate = 0", "rate = -2", "burst = 0", "rate_per = '0'", "rate_per = '-1 second'", "rate_per = '101 years'"])
def test_a_rate_that_makes_no_sense_is_refused(conn, table, key, nonsense):
    conn.execute(f"INSERT INTO turnstile.{table} ({key}) VALUES ('x')")
    with pytest.raises(Exception) as caught:
        conn.execute(f"UPDATE turnstile.{table} SET {nonsense} WHERE {key} = 'x'")
    assert caught.value.sqlstate == "23514"


@pytest.mark.parametrize("has_trigger", [False, True], ids=["directly", "by statements"])
def test_no_start_is_before_its_job(db, conn, other, has_trigger):
    """A job that comes between the pick of a claim and its look at the lane is left to the next pick."""
    third = db.connect()
    if has_trigger:
        third.execute("CREATE FUNCTION public.pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
        third.execute("CREATE TRIGGER own BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.pass()")
    configure(conn, "tenant", "acme", rate=1000, burst=1000)
    first, second = enqueue_times(conn, 2, tenant="acme")
    assert claim_next(conn).id == first
    other.execute("BEGIN; LOCK TABLE turnstile.job IN SHARE MODE")
    claimed = Attempt(lambda: claim(conn, ["default"], 5))
    claimed.given_time(third, conn.info.backend_pid)
    late = enqueue(other, tenant="acme")
    other.execute("COMMIT")
    assert ids(claimed.decided().made) == [second, late]
    early = "SELECT count(*) FROM turnstile.job WHERE claimed_at < run_at OR claimed_at < created_at"
    assert conn.execute(early).fetchone() == (0,)
