"""Many jobs over endpoints that are fast, slow, and failing in every way, by two dispatchers, of which one is killed again and again."""

import random
import threading
import time
from collections import Counter, defaultdict

import pytest

from support.calls import call, enqueue_many
from support.dispatch import set_endpoint
from support.ended import counts
from support.endpoints import most_at_once
from support.sleepers import until

MOST_AT_ONCE = {"queue": 60, "slow": 10, "failing": 25}
CONCURRENCY = 100
# How often each is chosen. Those that take their time, or hold up the host, are rare.
FAILURES = {
    "reset": 50, "close": 50, "half": 50, "half_head": 50, "garbage": 50, "failure": 100, "redirect": 50, "status": 100,
    "busy": 1, "busy_date": 1, "never": 2, "trickle": 2, "trickle_head": 2,
}  # fmt: skip
STATUSES = [304, 400, 404, 408, 425, 500, 502, 503]
RUNNING = """
SELECT count(*), coalesce(concurrency_key, '') FROM turnstile.job
 WHERE state = 'running' AND queue = 'http' GROUP BY 2
"""


def payload(chance: random.Random, kind: str) -> dict:
    if kind == "slow":
        return {"seconds": chance.uniform(0, 0.05)}
    if kind == "fast":
        return {}
    failures = chance.choices(list(FAILURES), list(FAILURES.values()), k=chance.randrange(3))
    last = "huge" if chance.randrange(500) == 0 else "fast"
    return {"how": [*failures, last], "status": chance.choice(STATUSES), "after": 1}


class Watch(threading.Thread):
    """Looks at what runs, in one snapshot each time, and keeps the most that it has seen."""

    def __init__(self, conn):
        super().__init__()
        self.conn, self.most, self.over = conn, Counter(), threading.Event()
        self.start()

    def run(self) -> None:
        while not self.over.wait(0.01):
            rows = self.conn.execute(RUNNING).fetchall()
            seen = {key: number for number, key in rows} | {"queue": sum(number for number, _ in rows)}
            for name, number in seen.items():
                self.most[name] = max(self.most[name], number)

    def __enter__(self):
        return self

    def __exit__(self, *raised) -> None:
        self.over.set()
        self.join()


def prepare(conn, endpoints) -> None:
    call(
        conn, "set_queue", name="http", max_running=MOST_AT_ONCE["queue"], max_attempts=1000,
        retry_base="10 milliseconds", retry_cap="10 milliseconds",
    )  # fmt: skip
    for name in ["slow", "failing"]:
        call(conn, "set_concurrency", key=f"host:{endpoints.host(name)}", slots=MOST_AT_ONCE[name])
    for name in ["fast", "slow", "failing"]:
        set_endpoint(conn, name, endpoints.url(name), timeout="1 second", trial_after=20)


def delivered(endpoints) -> dict[int, list]:
    """The requests of each job, in the order in which they came."""
    by_job = defaultdict(list)
    for request in endpoints.requests:
        if request.target != "/caught":
            by_job[request.job].append(request)
    return by_job


def after_completion(by_job: dict[int, list]) -> int:
    """Requests that came behind an answer that completes."""
    found = 0
    for requests in by_job.values():
        ends = [request.ended for request in requests if request.status and request.status // 100 == 2 and not request.lost]
        found += sum(1 for request in requests if ends and request.begun > min(ends))
    return found


def judge(conn, endpoints, watch: Watch, number: int, kills: list[float]) -> None:
    assert counts(conn) == {"completed": number}
    by_job = delivered(endpoints)
    jobs = {job for (job,) in conn.execute("SELECT id FROM turnstile.jobs").fetchall()}
    done = {job for job, requests in by_job.items() if any(request.status in (200, 204) for request in requests)}
    assert done == jobs
    assert "/caught" not in {request.target for request in endpoints.requests}
    of_host = {name: [each for each in endpoints.requests if each.host == endpoints.host(name)] for name in ["slow", "failing"]}
    by_server = {name: watch.most[f"host:{endpoints.host(name)}"] for name in of_host} | {"queue": watch.most["queue"]}
    in_flight = {name: most_at_once(own, kills) for name, own in {**of_host, "queue": endpoints.requests}.items()}
    again = after_completion(by_job)
    print(f"{len(endpoints.requests)} requests for {number} jobs, {len(kills)} kills, {again} after a completed one")
    print(f"at once in flight {in_flight}, and by the server {by_server}")
    assert {name: most for name, most in in_flight.items() if most > MOST_AT_ONCE[name]} == {}
    assert {name: most for name, most in by_server.items() if most > MOST_AT_ONCE[name]} == {}
    # Those whose answer a killed dispatcher could not pass on.
    assert again <= len(kills) * MOST_AT_ONCE["queue"]


@pytest.mark.parametrize("with_kills", [False, True], ids=["", "kills"])
@pytest.mark.parametrize("number", [1_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_each_job_is_delivered_and_no_limit_is_passed(db, conn, dispatch, endpoints, seed, number, with_kills):
    chance = random.Random(seed)
    prepare(conn, endpoints)

    def start():
        return dispatch("--queues", "http", "--concurrency", CONCURRENCY, TURNSTILE_LOG="error")

    workers, kills = [start(), start()], []
    times = sorted(chance.sample(range(number // 10, number * 8 // 10), 6)) if with_kills else []
    with Watch(db.connect()) as watch:
        for _ in range(number // 200):
            kinds = chance.choices(["fast", "slow", "failing"], [3, 1, 1], k=200)
            enqueue_many(conn, [{"kind": kind, "queue": "http", "payload": payload(chance, kind)} for kind in kinds])
        for when in times:
            until(lambda when=when: finished(conn) >= when, f"{when} jobs are done", lambda: counts(conn))
            gone = workers.pop(chance.randrange(2))
            kills.append(time.monotonic())
            gone.kill()
            workers.append(start())
        await_the_end(conn, number)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            status, said = worker.ended()
            assert status == 0, said
    judge(conn, endpoints, watch, number, kills)


def finished(conn) -> int:
    return conn.execute("SELECT count(*) FROM turnstile.job_history").fetchone()[0]


def await_the_end(conn, number: int) -> None:
    """For as long as there are more and more."""
    done = finished(conn)
    while done < number:
        before = done
        until(lambda before=before: finished(conn) > before, "more jobs are done", lambda: counts(conn))
        done = finished(conn)
        time.sleep(0.05)
