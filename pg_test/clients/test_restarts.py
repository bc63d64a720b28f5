"""The server goes away under workers, and comes back."""

import pytest

from faults.cluster import own_cluster
from support.calls import enqueue
from support.database import fresh_database
from support.drivers import Driver, reached, settle
from support.ended import await_state, errors, state
from support.sleepers import await_asleep, until


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("clients-restarts") as cluster:
        yield cluster


@pytest.mark.needs("reconnects")
@pytest.mark.parametrize("immediate", [False, True], ids=["fast", "immediate"])
def test_a_worker_survives_a_restart_of_the_server(cluster, language, way, immediate):
    """Runs go on meanwhile, and their ends are told afterwards. It says so, and ends well when it is told to."""
    with fresh_database() as database, reached(way, database.name) as place:
        with database.connect() as conn:
            settle(conn)
            driver = Driver(language, place).ready()
            await_asleep(conn, 1)
            job = enqueue(conn, "sleep", payload={"seconds": 2})
            driver.says("started", job)
        try:
            cluster.restart(immediate)
            with database.connect() as conn:
                await_state(conn, job, "completed")
                assert (errors(conn, job), len(driver.events("started", job))) == ([], 1)
                after = enqueue(conn, "ok")
                until(lambda: state(conn, after) == "completed", "another job is done", lambda: driver.stderr()[-3000:])
            driver.terminate()
            driver.leaves()
        finally:
            driver.kill()
