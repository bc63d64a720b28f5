"""Killed backends and stopped servers under load. TURNSTILE_KILLS and TURNSTILE_STOPS tell how many of each."""

import contextlib
import os
import random
import signal
import time

import psycopg
import pytest

from faults.cluster import own_cluster, wait_until_up
from faults.survivor import Survivor, nothing_acknowledged_is_lost
from faults.witness import Sampler, differences, is_sound, run_to_the_end
from support import naive
from support.calls import enqueue_many, ids
from support.crew import Progress, together
from support.database import fresh_database
from support.load import QUEUES, random_jobs, random_limits, set_limit
from support.runlog import Limits, violations

KILLS = int(os.environ.get("TURNSTILE_KILLS", "5"))
STOPS = int(os.environ.get("TURNSTILE_STOPS", "3"))
WORKERS = 8
# Work that must be done between one crash and the next, so that each meets a load.
BETWEEN_CRASHES = 60

CLIENTS = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"


@pytest.fixture(scope="module")
def cluster():
    # Even a stopped server leaves its files to the operating system, so fsync adds nothing here.
    with own_cluster("faults_crashes", fsync="off", max_connections=100) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


def _kill_a_backend(cluster, db, chance: random.Random) -> None:
    """The server ends all other backends too, and recovers."""
    with contextlib.closing(db.connect()) as watch:
        own = watch.info.backend_pid
        pids = [row[0] for row in watch.execute(CLIENTS, [db.name]) if row[0] != own]
        os.kill(chance.choice(pids), signal.SIGKILL)
        with contextlib.suppress(psycopg.OperationalError):
            watch.execute("SELECT pg_sleep(60)")
    wait_until_up()


def _stop_at_once(cluster, db, chance: random.Random) -> None:
    cluster.restart(immediate=True)


@pytest.mark.parametrize(
    ("crash", "times"), [(_kill_a_backend, KILLS), (_stop_at_once, STOPS)], ids=["SIGKILL", "immediate stop"]
)
def test_a_crash_under_load_loses_nothing_and_passes_no_limit(cluster, db, conn, crash, times, seed):
    chance = random.Random(seed)
    slots = random_limits(chance)
    for gate, number in slots.items():
        set_limit(conn, gate, number)
    waiting = ids(enqueue_many(conn, random_jobs(chance, 500)))
    # No end by itself: the crashes set it.
    progress = Progress(10**9)
    workers = [Survivor(f"worker-{n}", db.connect, seed + n, progress) for n in range(WORKERS)]
    sampler = Sampler(db.connect, progress, slots)
    found = []

    def crash_again_and_again():
        for _ in range(times):
            enough = progress.ended + BETWEEN_CRASHES
            while progress.ended < enough and progress.going:
                progress.idle()
                time.sleep(0.01)
            crash(cluster, db, chance)
            with contextlib.closing(db.connect()) as fresh:
                found.extend(differences(fresh))
        progress.total = progress.ended

    together([*[worker.work for worker in workers], sampler, crash_again_and_again], progress)

    with contextlib.closing(db.connect()) as fresh:
        assert found == []
        is_sound(fresh)
        sampler.saw_no_limit_passed()
        assert violations([run for worker in workers for run in worker.log.runs], Limits(slots)) == []
        workers[0].enqueued += waiting
        nothing_acknowledged_is_lost(fresh, workers)
        naive.claim_all_as_predicted(fresh, QUEUES)
        run_to_the_end(fresh, QUEUES, slots)
        is_sound(fresh)
        nothing_acknowledged_is_lost(fresh, workers)
