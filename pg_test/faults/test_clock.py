"""The server's clock jumps: jobs and leases follow it, and nothing runs before its time or is lost."""

import glob
import os

import pytest

from faults.cluster import own_cluster
from faults.witness import has_each_once, is_sound, run_to_the_end
from support.calls import claim, claim_next, complete, enqueue, enqueue_times
from support.database import fresh_database
from support.errors import WRONG_STATE, refused
from support.settings import configure
from support.sleepers import until
from support.tail import Tail, history


class Clock:
    """The offset of the server's clock, read by libfaketime whenever the server asks for the time."""

    def __init__(self, path):
        self.path = path
        self.move("+0")

    def move(self, offset: str) -> None:
        # In one step: a reader must not meet an empty file.
        fresh = self.path.with_suffix(".new")
        fresh.write_text(f"{offset}\n")
        fresh.chmod(0o644)
        fresh.rename(self.path)


@pytest.fixture
def clock(tmp_path_factory):
    libraries = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    if not libraries:
        pytest.skip("libfaketime is not installed")
    directory = tmp_path_factory.mktemp("clock")
    for parent in [directory, *directory.parents[:2]]:
        parent.chmod(0o755)
    clock = Clock(directory / "offset")
    fake = {
        "LD_PRELOAD": libraries[0], "FAKETIME_TIMESTAMP_FILE": str(clock.path), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
    }  # fmt: skip
    os.environ.update(fake)
    try:
        yield clock
    finally:
        for name in fake:
            os.environ.pop(name, None)


def test_a_clock_that_jumps_forth_and_back(clock):
    with own_cluster("faults_clock", fsync="off", max_connections=20), fresh_database() as db:
        conn = db.connect()
        configure(conn, "queue", "default", max_running=2)
        made = enqueue_times(conn, 4)
        later = enqueue(conn, run_at=conn.execute("SELECT clock_timestamp() + interval '12 hours'").fetchone()[0])
        first, _ = claim(conn, ["default"], 5)
        assert claim_next(conn) is None

        clock.move("+1d")
        # Leases are over, what was put off is due: both runs are failed, and retried or passed on.
        # While the background worker does that, a claim passes over what it has locked.
        taken = []
        until(lambda: taken.extend(claim(conn, ["default"], 5)) or len(taken) == 2, "two runs start")
        with refused(WRONG_STATE):
            complete(conn, first)
        is_sound(conn)

        clock.move("-2d")
        # Runs of a future that has not come yet keep their room; what is due then is not due now.
        assert claim_next(conn) is None
        is_sound(conn)
        assert [complete(conn, run) for run in taken] == [True, True]
        claim(conn, ["default"], 5)
        is_sound(conn)

        clock.move("+2d")
        run_to_the_end(conn, ["default"], {"queue default": 2})
        is_sound(conn)
        has_each_once(conn, [*made, later])


def test_who_follows_the_jobs_that_end_misses_none_of_them(clock):
    with own_cluster("faults_clock", fsync="off", max_connections=20), fresh_database() as db:
        conn, tail = db.connect(), Tail(db.connect())
        worker = db.connect()
        for offset in ["+0", "-1h", "+1h", "-2h", "+3d", "-3d"]:
            clock.move(offset)
            enqueue_times(conn, 3)
            runs = claim(conn, ["default"], 3)
            worker.execute("BEGIN")
            complete(worker, runs[0])
            complete(conn, runs[1])
            assert tail.ids() == [runs[1].id], offset
            complete(conn, runs[2])
            assert tail.ids() == [runs[2].id], offset
            worker.execute("COMMIT")
            assert tail.ids() == [runs[0].id], offset
        assert tail.to_the_end() == []
        assert tail.seen == history(conn)
