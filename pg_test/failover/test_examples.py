"""The workers of examples/ go on by themselves when their server is gone: no supervisor, and no second attempt of a job."""

import pytest

from failover.pair import DATABASE
from support.calls import enqueue
from support.examples import COMMANDS, Worker
from support.node import await_true
from support.sleepers import asleep

# What a worker does when its server goes away, with the job that it has then.
MOMENTS = {"sleeps": None, "works": {"seconds": 5}, "completes": {"seconds": 0}}

CLAIMED = "SELECT count(*) FROM turnstile.job WHERE state = 'running'"
HELD_UP = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND backend_type = 'client backend'"
COMPLETED = "SELECT queue, count(*) FROM turnstile.job_history WHERE state = 'completed' AND attempt = 1 GROUP BY queue"


@pytest.fixture
def workers(synchronous_pair):
    """One of each language for each moment. What they have started ends with its server."""
    started = {(language, moment): Worker(language, synchronous_pair.url, f"{language} {moment}") for language in COMMANDS for moment in MOMENTS}
    yield started
    for worker in started.values():
        worker.process.kill()


def value(conn, query: str) -> int:
    return conn.execute(query).fetchone()[0]


def give_jobs(conn) -> int:
    """To all but those that sleep."""
    jobs = [(f"{language} {moment}", job) for language in COMMANDS for moment, job in MOMENTS.items() if job]
    for queue, job in jobs:
        enqueue(conn, queue=queue, payload=job)
    return len(jobs)


def all_go_on(workers) -> bool:
    ended = {name: worker.ended() for name, worker in workers.items() if not worker.is_running()}
    assert ended == {}
    return True


def test_each_worker_goes_on_with_the_promoted_server(synchronous_pair, workers):
    pair = synchronous_pair
    blocker = pair.primary.connect(DATABASE)
    with pair.primary.connect(DATABASE) as conn:
        await_true(lambda: all_go_on(workers) and asleep(conn) == len(workers), "all of them sleep")
        # No completion gets an answer from here on.
        blocker.execute("BEGIN")
        blocker.execute("LOCK TABLE turnstile.job_history IN EXCLUSIVE MODE")
        given = give_jobs(conn)
        await_true(lambda: value(conn, HELD_UP) >= len(COMMANDS) and value(conn, CLAIMED) == given, "all of them have their job")
    pair.kill_primary()
    blocker.close()
    expected = {f"{language} {moment}": 1 + bool(job) for language in COMMANDS for moment, job in MOMENTS.items()}
    with pair.primary.connect(DATABASE) as conn:
        for queue in expected:
            enqueue(conn, queue=queue)
        await_true(lambda: all_go_on(workers) and dict(conn.execute(COMPLETED).fetchall()) == expected, "all jobs are completed at once")
    for worker in workers.values():
        worker.terminate()
    assert {worker.ended()[0] for worker in workers.values()} == {0}
