"""Concurrency keys that are paused or on trial: exact for all, at no cost to others, beside whatever limits hold."""

import pytest

from support import rows
from support.calls import call, claim, claim_all, claim_next, complete, enqueue, enqueue_times, ids
from support.crew import Progress, together
from support.settings import configure, unconfigure
from support.sleepers import put_to_sleep, woken_by_the_end

KEY = "host:api.example"
URL = "http://api.example/hook"
BEHIND = {"concurrency_key": KEY}
CLAIM = "SELECT id FROM turnstile.claim_next(wait => '60 s')"


def pause(conn, until=None, key=KEY):
    call(conn, "pause_concurrency", key=key, until=until)


def resume(conn, key=KEY):
    call(conn, "resume_concurrency", key=key)


def trial(conn, is_on: bool = True, key=KEY):
    conn.execute(
        "INSERT INTO turnstile.slowed_key AS slowed (key, one_at_a_time) VALUES (%s, %s)"
        " ON CONFLICT (key) DO UPDATE SET one_at_a_time = excluded.one_at_a_time",
        [key, is_on],
    )


def later(conn, offset: str):
    return conn.execute("SELECT clock_timestamp() + %s::interval", [offset]).fetchone()[0]


def report(conn, run, answer: str, **more) -> None:
    call(conn, "report_endpoint", job_id=run.id, attempt=run.attempt, answer=answer, **more)


def kept(conn) -> list:
    return [row[0] for row in conn.execute("SELECT key FROM turnstile.slowed_key ORDER BY key")]


def test_a_paused_key_starts_nothing_and_hides_no_other_job(conn):
    held = enqueue_times(conn, 3, **BEHIND)
    pause(conn)
    held += enqueue_times(conn, 2, **BEHIND)
    free = [enqueue(conn), enqueue(conn, concurrency_key="other")]
    assert ids(claim_all(conn)) == free
    resume(conn)
    assert ids(claim_all(conn)) == held


def test_the_last_pause_counts_and_runs_go_on(conn):
    enqueue_times(conn, 2, **BEHIND)
    run = claim_next(conn)
    pause(conn, "2100-01-01")
    assert complete(conn, run)
    assert claim_next(conn) is None
    pause(conn, rows.clock(conn))
    assert claim_next(conn) is not None
    resume(conn)
    assert kept(conn) == []


def test_a_pause_ends_by_itself_and_wakes_who_waits(db, conn):
    job = enqueue(conn, **BEHIND)
    until = later(conn, "1 second")
    pause(conn, until)
    with woken_by_the_end(conn, put_to_sleep(db, conn, 2, CLAIM)) as waiting:
        while not any(not sleeper.is_alive() for sleeper in waiting):
            waiting[0].join(0.01)
            waiting[1].join(0.01)
        [found] = [sleeper.rows for sleeper in waiting if not sleeper.is_alive()]
        assert found == [(job,)]
        assert conn.execute("SELECT claimed_at >= %s FROM turnstile.job", [until]).fetchone() == (True,)


def test_resuming_wakes_who_waits(db, conn):
    job = enqueue(conn, **BEHIND)
    pause(conn)
    [waiting] = put_to_sleep(db, conn, 1, CLAIM)
    resume(conn)
    assert waiting.returned().rows == [(job,)]


def test_an_answer_of_busy_pauses_for_its_time_and_shortens_nothing(conn):
    call(conn, "set_endpoint", pattern="*", url=URL)
    enqueue_times(conn, 3)
    run = claim_next(conn)
    report(conn, run, "busy", pause="1 hour")
    first = conn.execute("SELECT paused_until FROM turnstile.slowed_key").fetchone()[0]
    report(conn, run, "busy", pause="1 second")
    assert conn.execute("SELECT paused_until FROM turnstile.slowed_key").fetchone()[0] == first
    report(conn, run, "busy", pause="2 hours")
    assert conn.execute("SELECT paused_until > %s FROM turnstile.slowed_key", [first]).fetchone() == (True,)
    assert claim_next(conn) is None
    pause(conn)
    report(conn, run, "busy", pause="24 hours")
    assert conn.execute("SELECT paused_until = 'infinity' FROM turnstile.slowed_key").fetchone() == (True,)
    resume(conn)
    assert len(claim_all(conn)) == 2


def test_one_at_a_time_whoever_claims(db, conn):
    """Five claim and complete together: never do two jobs of the key run at once."""
    enqueue_times(conn, 40, **BEHIND)
    trial(conn)
    progress = Progress(40)
    running = "SELECT count(*) FROM turnstile.job WHERE state = 'running'"

    def work():
        with db.connect() as mine:
            while progress.going:
                runs = claim(mine, ["default"], 5)
                assert len(runs) <= 1
                if not runs:
                    progress.idle()
                    continue
                assert mine.execute(running).fetchone() == (1,)
                complete(mine, runs[0])
                progress.add()

    together([work] * 5, progress)
    assert rows.counts(conn) == {"completed": 40}


def test_works_ends_the_trial_and_wakes_who_waits(db, conn):
    call(conn, "set_endpoint", pattern="*", url=URL)
    jobs = enqueue_times(conn, 3)
    run = claim_next(conn)
    report(conn, run, "failing")
    assert claim_next(conn) is None
    with woken_by_the_end(conn, put_to_sleep(db, conn, 2, CLAIM)) as waiting:
        report(conn, run, "works")
        assert sorted(sleeper.returned().rows[0][0] for sleeper in waiting) == jobs[1:]
    assert kept(conn) == []


def test_a_trial_begins_while_more_run_and_waits_for_them(conn):
    enqueue_times(conn, 4, **BEHIND)
    runs = claim(conn, ["default"], 3)
    trial(conn)
    for run in runs:
        assert claim_next(conn) is None
        complete(conn, run)
    assert claim_next(conn) is not None


def test_a_limit_of_none_stays_none_on_trial(conn):
    configure(conn, "concurrency", KEY, slots=0)
    enqueue(conn, **BEHIND)
    trial(conn)
    assert claim_next(conn) is None
    configure(conn, "concurrency", KEY, slots=5)
    assert claim_next(conn) is not None


@pytest.mark.parametrize("known", [False, True], ids=["", "known before"])
def test_a_slowed_key_without_a_row_follows_the_default_row(conn, known):
    enqueue_times(conn, 12, **BEHIND)
    if known:
        assert claim_next(conn) is not None
    has = int(known)
    pause(conn, later(conn, "-1 second"))
    assert kept(conn) == [KEY], "a row that means nothing"
    configure(conn, "concurrency", "*", slots=has + 2)
    assert len(claim_all(conn)) == 2
    assert call(conn, "check") == []
    configure(conn, "concurrency", "*", slots=has + 3)
    assert len(claim_all(conn)) == 1
    trial(conn)
    configure(conn, "concurrency", "*", slots=has + 6)
    assert claim_all(conn) == []
    assert call(conn, "check") == []
    trial(conn, False)
    assert len(claim_all(conn)) == 3
    unconfigure(conn, "concurrency", "*")
    assert len(claim_all(conn)) == 12 - 6 - has


def test_a_slowed_key_follows_its_own_row(conn):
    enqueue_times(conn, 10, **BEHIND)
    configure(conn, "concurrency", "*", slots=1)
    pause(conn, later(conn, "-1 second"))
    configure(conn, "concurrency", KEY, slots=3)
    assert len(claim_all(conn)) == 3
    configure(conn, "concurrency", KEY, slots=5)
    assert len(claim_all(conn)) == 2
    assert call(conn, "check") == []
    unconfigure(conn, "concurrency", KEY)
    assert claim_all(conn) == []
    configure(conn, "concurrency", "*", slots=6)
    assert len(claim_all(conn)) == 1


def test_a_new_own_row_inherits_and_is_not_slowed(conn):
    configure(conn, "concurrency", "*", slots=4)
    trial(conn)
    pause(conn)
    assert call(conn, "set_concurrency", key=KEY)[0].slots is None
    enqueue_times(conn, 5, **BEHIND)
    assert claim_all(conn) == []
    resume(conn)
    assert len(claim_all(conn)) == 4


def test_a_rate_of_the_default_row_holds_on_trial(conn):
    configure(conn, "concurrency", "*", rate=1, rate_per="1 day")
    _, job = enqueue_times(conn, 2, **BEHIND)
    assert len(claim_all(conn)) == 1
    assert "rate" in [row.reason for row in call(conn, "why_waiting", job_id=job)]
    trial(conn)
    assert "rate" in [row.reason for row in call(conn, "why_waiting", job_id=job)]


@pytest.mark.parametrize("change", [pause, trial], ids=["pause", "trial"])
@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO s; COMMIT"])
def test_what_is_rolled_back_never_was(conn, other, change, undo):
    enqueue_times(conn, 4, **BEHIND)
    conn.execute("BEGIN; SAVEPOINT s")
    change(conn)
    assert len(claim(other, ["default"], 2)) == 2
    conn.execute(undo)
    assert len(claim(other, ["default"], 2)) == 2


def test_all_of_them_gone_are_forgotten_and_a_truncate_counts(conn):
    enqueue_times(conn, 2, **BEHIND)
    pause(conn)
    assert claim_next(conn) is None
    conn.execute("TRUNCATE turnstile.slowed_key")
    assert len(claim_all(conn)) == 2


def test_rows_that_mean_nothing_go_in_passing(conn, other):
    pause(conn, later(conn, "-1 second"), key="over")
    call(conn, "set_endpoint", pattern="*", url=URL)
    trial(conn, key="on trial")
    trial(conn, False, key="ended")
    pause(conn, key="new")
    assert kept(conn) == ["new", "on trial"]
    pause(conn, later(conn, "-1 second"), key="over")
    enqueue(conn)
    report(conn, claim_next(conn), "busy", pause="1 hour")
    assert kept(conn) == [KEY, "new", "on trial"]
    pause(conn, later(conn, "-1 second"), key="over")
    conn.execute("BEGIN; SELECT FROM turnstile.slowed_key WHERE key = 'over' FOR UPDATE")
    pause(other, key="another")
    conn.execute("COMMIT")
    assert kept(conn) == ["another", KEY, "new", "on trial", "over"], "who is busy with a row is not waited for"


def test_a_report_that_changes_nothing_writes_nothing(conn):
    call(conn, "set_endpoint", pattern="*", url=URL)
    enqueue(conn)
    run = claim_next(conn)

    def writes(answer: str, **more) -> bool:
        conn.execute("BEGIN")
        report(conn, run, answer, **more)
        found = conn.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL").fetchone()[0]
        conn.execute("COMMIT")
        return found

    assert writes("works") is False
    assert writes("failing") is True
    report(conn, run, "gone")
    assert writes("gone") is False


def test_a_report_by_two_at_once_is_one_trial(conn, other):
    call(conn, "set_endpoint", pattern="*", url=URL)
    enqueue_times(conn, 3)
    first, second = claim(conn, ["default"], 2)
    report(conn, first, "failing")
    report(other, second, "failing")
    complete(conn, first)
    assert claim_next(conn) is None
    report(other, second, "works")
    assert claim_next(conn) is not None
    report(conn, second, "works")


# ---- Paused endpoints ------------------------------------------------------------------------------


def endpoint(conn, pattern: str, **columns):
    call(conn, "set_endpoint", pattern=pattern, **columns)


def test_a_key_whose_endpoints_are_all_paused_starts_nothing(conn):
    endpoint(conn, "a", url=URL)
    endpoint(conn, "b", url=URL)
    endpoint(conn, "c", url="http://other.example")
    job, other_host = enqueue(conn, kind="a"), enqueue(conn, kind="c")
    endpoint(conn, "a", paused=True)
    assert ids(claim_all(conn)) == [job, other_host], "another endpoint of the key is not paused"
    job = enqueue(conn, kind="a")
    endpoint(conn, "b", paused=True)
    assert claim_next(conn) is None
    assert call(conn, "check") == []
    endpoint(conn, "b", paused=False)
    assert claim_next(conn).id == job
    job = enqueue(conn, kind="a")
    call(conn, "drop_endpoint", pattern="b")
    assert claim_next(conn) is None
    call(conn, "drop_endpoint", pattern="a")
    assert claim_next(conn).id == job, "without an endpoint the key is any other"


@pytest.mark.parametrize("own", [False, True], ids=["", "with a row of its own"])
def test_a_paused_endpoint_keeps_the_limits_for_later(conn, own):
    endpoint(conn, "*", url=URL)
    configure(conn, "concurrency", KEY if own else "*", slots=2)
    enqueue_times(conn, 4)
    endpoint(conn, "*", paused=True)
    trial(conn)
    assert claim_all(conn) == []
    resume(conn)
    assert claim_all(conn) == [], "an endpoint that is paused stays so"
    endpoint(conn, "*", paused=False)
    assert len(claim_all(conn)) == 2


def test_gone_closes_the_key_and_who_resumes_the_endpoint_wakes_who_waits(db, conn):
    endpoint(conn, "*", url=URL)
    jobs = enqueue_times(conn, 2)
    report(conn, claim_next(conn), "gone")
    [waiting] = put_to_sleep(db, conn, 1, CLAIM)
    endpoint(conn, "*", paused=False)
    assert waiting.returned().rows == [(jobs[1],)]


def test_an_endpoint_that_moves_to_another_host_frees_the_key_of_the_first(conn):
    endpoint(conn, "*", url=URL)
    job = enqueue(conn)
    endpoint(conn, "*", paused=True)
    assert claim_next(conn) is None
    endpoint(conn, "*", url="http://b.example")
    assert claim_next(conn).id == job
    enqueue(conn)
    assert claim_next(conn) is None
    conn.execute("TRUNCATE turnstile.endpoint")
    assert claim_next(conn) is not None


def test_a_pause_of_an_endpoint_rolled_back_never_was(conn, other):
    endpoint(conn, "*", url=URL)
    enqueue_times(conn, 2)
    conn.execute("BEGIN")
    endpoint(conn, "*", paused=True)
    assert claim_next(other) is not None
    conn.execute("ROLLBACK")
    assert claim_next(other) is not None


# ---- What is told ----------------------------------------------------------------------------------


def _why(conn, job: int) -> list:
    return [(row.reason, row.gate, row.name, row.opens_at, row.slots) for row in call(conn, "why_waiting", job_id=job) if row.reason != "no_worker"]


def test_why_waiting_names_pauses_and_trials(conn):
    endpoint(conn, "*", url=URL)
    first, job = enqueue_times(conn, 2)
    run = claim_next(conn)
    assert run.id == first
    until = later(conn, "1 hour")
    pause(conn, until)
    assert _why(conn, job) == [("paused", "concurrency", KEY, until, None)]
    pause(conn)
    assert _why(conn, job) == [("paused", "concurrency", KEY, None, None)]
    resume(conn)
    trial(conn)
    assert _why(conn, job) == [("full", "concurrency", KEY, None, 1)]
    resume(conn)
    endpoint(conn, "*", paused=True)
    assert _why(conn, job) == [("paused", "concurrency", KEY, None, None)]
    endpoint(conn, "*", paused=False)
    configure(conn, "concurrency", KEY, slots=0)
    assert _why(conn, job) == [("full", "concurrency", KEY, None, 0)]


def _shown(conn) -> tuple:
    query = "SELECT slots, free, paused_until, one_at_a_time FROM turnstile.concurrency_keys WHERE key = %s"
    return conn.execute(query, [KEY]).fetchone()


def test_the_view_shows_what_is_in_force(conn):
    assert _shown(conn) is None
    endpoint(conn, "*", url=URL)
    configure(conn, "concurrency", "*", slots=4)
    enqueue_times(conn, 2)
    claim_next(conn)
    assert _shown(conn) == (4, 3, None, False)
    trial(conn)
    assert _shown(conn) == (1, 0, None, True)
    until = later(conn, "1 hour")
    resume(conn)
    pause(conn, until)
    assert _shown(conn) == (4, 0, until, False)
    resume(conn)
    endpoint(conn, "*", paused=True)
    assert _shown(conn) == (0, 0, None, False)
    pause(conn, until, key="unused")
    assert conn.execute("SELECT paused_until FROM turnstile.concurrency_keys WHERE key = 'unused'").fetchone() == (until,)
