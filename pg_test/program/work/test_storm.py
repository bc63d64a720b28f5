"""Many jobs by `turnstile work` while workers are killed and told to end, connections are lost and jobs are cancelled."""

import contextlib
import random
import sys
import time
from pathlib import Path

import psycopg
import pytest

from support.calls import call, enqueue_many
from support.ended import counts
from support.pgbouncer import pgbouncer
from support.sleepers import until

WORKERS = 3
COMMANDS = {
    "command": ["--", "sh", "-c", "echo $TURNSTILE_JOB_ID"],
    "persistent": ["--persistent", "--", sys.executable, str(Path(__file__).with_name("echo.py"))],
}
LOSE_ONE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE application_name = 'turnstile work' AND datname = current_database() ORDER BY random() LIMIT 1
"""
LIVE = "SELECT id FROM turnstile.job ORDER BY random() LIMIT 5"
LEFT = "SELECT count(*) FROM turnstile.job"
WRONG = "SELECT count(*) FROM turnstile.jobs WHERE state = 'completed' AND result IS DISTINCT FROM to_jsonb(id)"


class Crew:
    """As many workers as there should be, of whom some have to go."""

    def __init__(self, start, chance: random.Random):
        self.start, self.chance = start, chance
        self.workers = [start() for _ in range(WORKERS)]
        self.told = []

    def _leaves(self):
        gone = self.workers.pop(self.chance.randrange(WORKERS))
        self.workers.append(self.start())
        return gone

    def kill_one(self) -> None:
        self._leaves().kill()

    def tell_one(self) -> None:
        gone = self._leaves()
        gone.terminate()
        self.told.append(gone)

    def go_home(self) -> None:
        for worker in self.workers:
            worker.terminate()
        for worker in [*self.workers, *self.told]:
            status, said = worker.ended()
            # One that was told before it has begun to listen is ended by the signal.
            assert status in ([0, -15] if worker in self.told else [0]), said


def deeds(conn, crew: Crew) -> list:
    def cancel_some() -> None:
        for (job,) in conn.execute(LIVE).fetchall():
            with contextlib.suppress(psycopg.errors.ObjectNotInPrerequisiteState):  # It has ended meanwhile.
                call(conn, "cancel", job_id=job)

    return [crew.kill_one, crew.tell_one, cancel_some, lambda: conn.execute(LOSE_ONE)]


@pytest.mark.parametrize(
    "mode, way, number",
    [
        ("command", "direct", 600),
        ("persistent", "pgbouncer", 600),
        *[pytest.param(mode, way, 10_000, marks=pytest.mark.long) for mode in COMMANDS for way in ("direct", "pgbouncer")],
    ],
)
def test_all_is_done_whatever_happens(db, conn, work, seed, mode, way, number):
    chance = random.Random(seed)
    # A lease that is over costs an attempt, and none of these jobs fails.
    call(conn, "set_queue", name="*", retry_base="10 milliseconds", retry_cap="10 milliseconds", lease="2 seconds", max_attempts=1000)
    options, (_, *command) = COMMANDS[mode][: COMMANDS[mode].index("--")], COMMANDS[mode][COMMANDS[mode].index("--") :]
    with contextlib.ExitStack() as around:
        port = around.enter_context(pgbouncer(db.name)).port if way == "pgbouncer" else None
        database = f"host=127.0.0.1 port={port} dbname={db.name}" if port else db.name

        def start():
            arguments = ["--concurrency", "4", "--heartbeat", "200ms", "--drain", "100ms", "--grace", "1s", *options]
            return work(*arguments, command=command, database=database)

        crew = Crew(start, chance)
        for _ in range(number // 200):
            enqueue_many(conn, [{"kind": "work", "payload": {"milliseconds": chance.randrange(5)}} for _ in range(200)])
            chance.choice(deeds(conn, crew))()
        for deed in deeds(conn, crew):
            deed()
        await_the_end(conn)
        crew.go_home()
        for worker in [*crew.workers, *crew.told]:
            worker.leaves_nothing()
    ended = counts(conn)
    assert set(ended) <= {"completed", "cancelled"} and sum(ended.values()) == number
    assert ended["completed"] > number // 2
    assert conn.execute(WRONG).fetchone() == (0,)


def left(conn) -> int:
    call(conn, "rescue")
    return conn.execute(LEFT).fetchone()[0]


def await_the_end(conn) -> None:
    """For as long as there are fewer and fewer."""
    still = left(conn)
    while still:
        before, still = still, left(conn)
        if still == before:
            time.sleep(0.05)
            until(lambda: left(conn) < before, "fewer jobs", lambda: counts(conn))
