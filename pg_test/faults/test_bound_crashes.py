"""After a crash every backend of before is gone: the runs that were bound to them are rescued, the others are not."""

import contextlib

import pytest

from faults.cluster import crash_by_killing, own_cluster
from faults.witness import is_sound
from support import rows
from support.calls import claim_next, complete, enqueue_times
from support.database import fresh_database
from support.lapse import LOST, errors, until


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_bound", fsync="off", max_connections=50) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


def _kill_the_owner(cluster, owner):
    crash_by_killing(owner.info.backend_pid)


def _stop_at_once(cluster, owner):
    cluster.restart(immediate=True)


def _stop(cluster, owner):
    cluster.restart()


@pytest.mark.parametrize("crash", [_kill_the_owner, _stop_at_once, _stop], ids=["SIGKILL", "immediate stop", "stop"])
def test_bound_runs_are_rescued_after_the_server_is_back(cluster, db, crash):
    owner, bystander = db.connect(), db.connect()
    enqueue_times(owner, 3)
    bound = claim_next(owner, bind_to_connection=True, lease="1 day")
    bound_too = claim_next(bystander, bind_to_connection=True, lease="1 day")
    free = claim_next(owner, lease="1 day")
    crash(cluster, owner)
    with contextlib.closing(db.connect()) as conn:
        for run in (bound, bound_too):
            until(conn, run.id, "retryable", lambda: claim_next(conn, "another queue"))
            assert errors(conn, run.id) == [LOST]
        assert rows.state(conn, free.id) == "running"
        assert complete(conn, free)
        is_sound(conn)
