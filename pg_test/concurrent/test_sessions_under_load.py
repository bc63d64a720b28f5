"""Sessions under load: strictly one after the other inside a session, side by side across sessions."""

import random
import threading

import pytest

from support.calls import claim, claim_next, complete, complete_and_claim_next, enqueue_many, ids
from support.crew import STALL, Progress, together
from support.sweep import most_at_once

CONNECTIONS = 16


def _history(conn) -> dict[str, list]:
    """For each session its runs as (id, claimed_at, finished_at), in the order of their claims."""
    by_session = {}
    query = "SELECT session, id, claimed_at, finished_at FROM turnstile.job_history ORDER BY claimed_at, id"
    for session, job_id, claimed_at, finished_at in conn.execute(query):
        by_session.setdefault(session, []).append((job_id, claimed_at, finished_at))
    return by_session


def _ran_one_after_another(runs, expected: list[int]) -> None:
    assert [job_id for job_id, _, _ in runs] == expected
    assert most_at_once([(claimed_at, finished_at) for _, claimed_at, finished_at in runs]) == 1


def _work(conn, jobs: list, hand_on: bool, progress: Progress) -> None:
    """Ends the jobs given, and then whatever else there is to claim."""
    while progress.going:
        if not jobs:
            progress.idle()
            job = claim_next(conn)
        elif hand_on:
            job = complete_and_claim_next(conn, jobs.pop())
            progress.add()
        else:
            assert complete(conn, jobs.pop()) is True
            progress.add()
            job = claim_next(conn)
        if job:
            jobs.append(job)


@pytest.mark.parametrize("hand_on", [False, True], ids=["complete", "complete_and_claim_next"])
def test_one_session_runs_its_jobs_strictly_in_order(db, conn, hand_on):
    made = ids(enqueue_many(conn, [{"kind": "work", "session": "chat-1"}] * 101))
    progress = Progress(len(made))
    together([lambda: _work(db.connect(), [], hand_on, progress)] * CONNECTIONS, progress)
    _ran_one_after_another(_history(conn)["chat-1"], made)


def test_two_hundred_sessions_run_side_by_side_each_in_order(db, conn, seed):
    sessions, each = 200, 5
    names = [f"chat-{n}" for n in range(sessions)] * each
    random.Random(seed).shuffle(names)
    answers = enqueue_many(conn, [{"kind": "work", "session": name} for name in names])
    made = {}
    for name, answer in zip(names, answers, strict=True):
        made.setdefault(name, []).append(answer.id)
    progress = Progress(len(names))
    all_have_claimed = threading.Barrier(CONNECTIONS)
    firsts = []

    def worker():
        connection = db.connect()
        jobs = claim(connection, ["default"], 13)
        while batch := claim(connection, ["default"], 1):
            jobs += batch
        firsts.extend(jobs)
        all_have_claimed.wait(STALL)
        _work(connection, jobs, False, progress)

    together([worker] * CONNECTIONS, progress)

    assert sorted(ids(firsts)) == sorted(runs[0] for runs in made.values()), "the first of each, all running at once"
    history = _history(conn)
    assert len(history) == sessions
    for name, runs in history.items():
        _ran_one_after_another(runs, made[name])
    assert most_at_once([(begin, end) for runs in history.values() for _, begin, end in runs]) == sessions
