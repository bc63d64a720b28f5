"""Where a queue keeps no completed jobs (keep_completed of 0), a completion only deletes, unless others have to know of the end."""

import pytest
from psycopg import errors
from support import rows
from support.calls import (
    call,
    cancel,
    claim,
    claim_next,
    complete,
    complete_and_claim,
    complete_and_claim_next,
    complete_many,
    discard,
    enqueue,
    enqueue_times,
    fail,
    ids,
    release,
    retry,
)  # fmt: skip
from support.ended import history
from support.settings import configure, unconfigure
from support.sleepers import Sleeper, asleep, until

# With a trigger on the history, jobs are moved by a statement.
BY_STATEMENT = """
CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER nothing AFTER UPDATE ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION public.nothing()
"""


@pytest.fixture(params=["directly", "by a statement"])
def brief(conn, request):
    """Where the queue brief keeps no completed jobs."""
    if request.param == "by a statement":
        conn.execute(BY_STATEMENT)
    configure(conn, "queue", "brief", keep_completed="0")
    return conn


def _run(conn, queue: str = "brief", **arguments):
    enqueue(conn, queue=queue, **arguments)
    return claim_next(conn, queue)


def test_a_completion_leaves_nothing(brief):
    run = _run(brief, payload={"n": 1})
    assert complete(brief, run, result={"done": True}) is True
    assert rows.everything(brief) == []
    assert brief.execute("SELECT completed FROM turnstile.stat_queue WHERE name = 'brief'").fetchone() == (1,)
    assert brief.execute("SELECT id FROM turnstile.recent('oldest')").fetchall() == []
    assert brief.execute("SELECT * FROM turnstile.check()").fetchall() == []


@pytest.mark.parametrize(
    "again",
    [
        complete,
        complete_and_claim_next,
        fail,
        release,
        lambda conn, run: retry(conn, run.id),
        lambda conn, run: cancel(conn, run.id),
    ],
)
def test_after_it_there_is_no_such_job(brief, again):
    run = _run(brief)
    complete(brief, run)
    with pytest.raises(errors.NoDataFound):
        again(brief, run)


def test_of_many_runs_each_goes_by_its_queue(brief):
    runs = [_run(brief, queue) for queue in ("brief", "default", "brief", "default")]
    assert complete_many(brief, runs) == 4
    assert history(brief) == [runs[1].id, runs[3].id]
    assert complete_many(brief, runs) == 0


def test_with_a_claim(brief):
    jobs = enqueue_times(brief, 4, queue="brief")
    first = claim_next(brief, "brief")
    second = complete_and_claim_next(brief, first)
    assert second.id == jobs[1]
    assert ids(complete_and_claim(brief, [second], ["brief"], 2)) == jobs[2:]
    assert history(brief) == []


def test_what_ends_otherwise_is_kept(brief):
    runs = [_run(brief) for _ in range(2)]
    discard(brief, runs[0])
    release(brief, runs[1])
    cancel(brief, runs[1].id)
    assert [rows.state(brief, run.id) for run in runs] == ["discarded", "cancelled"]
    retry(brief, runs[0].id)
    complete(brief, claim_next(brief, "brief"))
    assert rows.state(brief, runs[0].id) == "discarded"


def test_it_is_inherited(brief):
    configure(brief, "queue", "*", keep_completed="0")
    configure(brief, "queue", "long", keep_completed="-1")
    configure(brief, "queue", "silent", max_running=5)
    runs = [_run(brief, queue) for queue in ("unnamed", "long", "silent")]
    complete_many(brief, runs)
    assert history(brief) == [runs[1].id]


def test_it_counts_from_the_commit_on(brief, other):
    kept = _run(brief, "default")
    with brief.transaction(force_rollback=True):
        configure(brief, "queue", "default", keep_completed="0")
        complete(brief, kept)
        assert history(brief) == [kept.id]
    complete(brief, kept)
    configure(other, "queue", "default", keep_completed="0")
    complete(brief, _run(brief, "default"))
    configure(other, "queue", "default", keep_completed="1 day")
    last = _run(brief, "default")
    complete(brief, last)
    unconfigure(other, "queue", "brief")
    of_brief = _run(brief)
    complete(brief, of_brief)
    assert history(brief) == [kept.id, last.id, of_brief.id]


def test_a_completion_that_is_undone_is_none(brief):
    run = _run(brief)
    with brief.transaction(force_rollback=True):
        complete(brief, run)
    assert rows.state(brief, run.id) == "running"
    with brief.transaction():
        with brief.transaction(force_rollback=True):
            complete(brief, run)
        assert complete(brief, run) is True
    assert rows.everything(brief) == []


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_in_a_transaction_that_is_older_than_the_setting(brief, other, level):
    run, another = _run(brief, "default"), _run(brief, "default")
    brief.execute(f"BEGIN ISOLATION LEVEL {level}")
    brief.execute("SELECT count(*) FROM turnstile.job")
    configure(other, "queue", "default", keep_completed="0")
    complete(brief, run)
    brief.execute("COMMIT")
    complete(brief, another)
    assert history(brief) == []


@pytest.mark.parametrize(
    ("arguments", "is_free"),
    [
        ({"unique_mode": "until_executed"}, True),
        ({"unique_mode": "until_expired", "unique_for": "1 hour"}, False),
        ({"unique_states": ["available", "running", "discarded"], "unique_for": "1 hour"}, True),
        ({"unique_states": ["available", "running", "completed"], "unique_for": "1 hour"}, False),
    ],
)
def test_a_unique_key_is_held_as_ever(brief, arguments, is_free):
    key = {"queue": "brief", "unique_key": "k", **arguments}
    run = _run(brief, **{name: value for name, value in key.items() if name != "queue"})
    complete(brief, run)
    assert history(brief) == ([run.id] if "completed" in arguments.get("unique_states", []) else [])
    assert (enqueue(brief, **key) != run.id) is is_free


def test_a_wait_for_its_end_ends(brief, other):
    run = _run(brief)
    waiter = Sleeper(other, "CALL turnstile.wait_for_end(%(job)s, '60 s')", job=run.id)
    until(lambda: asleep(brief), "it sleeps")
    complete(brief, run)
    assert waiter.returned().error is None
    with pytest.raises(errors.NoDataFound):
        other.execute("CALL turnstile.wait_for_end(%s, '1 s')", [run.id])


def test_workers_claim_on(brief):
    """As many jobs as there are go through a queue with a limit."""
    configure(brief, "queue", "brief", max_running=2)
    jobs = enqueue_times(brief, 10, queue="brief")
    done = []
    while runs := claim(brief, ["brief"], 5):
        assert len(runs) <= 2
        complete_many(brief, runs)
        done += ids(runs)
    assert done == jobs
    assert call(brief, "check") == []
