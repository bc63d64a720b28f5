"""What the dashboard costs the server: one statement a second for all viewers of a page, none of which takes long."""

import threading
import time

import pytest

from support.dashboard import Dashboard, pages, with_parameters
from support.dashboard_world import parameters
from support.sleepers import until

VIEWERS = 20
SECONDS = 4
# Those of viewers: samples for the charts are read once for all.
CALLS = """
SELECT md5(query) || left(query, 80), calls FROM pg_stat_statements JOIN pg_database ON pg_database.oid = dbid
 WHERE datname = current_database() AND query ILIKE '%%SELECT%%' AND query NOT ILIKE '%%pg_stat_statements%%' AND query NOT ILIKE '%%set_config%%'
 ORDER BY calls DESC
"""


@pytest.fixture(scope="module")
def conn(module_db, world):
    conn = module_db.connect()
    conn.execute("CREATE EXTENSION pg_stat_statements")
    return conn


@pytest.fixture
def viewed(conn, module_db):
    """The only one that asks the server for anything."""
    started = Dashboard(f"dbname={module_db.name}")
    yield started
    started.close()


class Looking(threading.Thread):
    """A viewer who has a page open, or asks for it again and again."""

    def __init__(self, viewed, path: str, again: bool):
        super().__init__(daemon=True)
        self.viewed, self.path, self.again = viewed, path, again
        self.times: list[float] = []
        self.stop = threading.Event()
        self.start()

    def run(self) -> None:
        if self.again:
            while not self.stop.is_set():
                began = time.monotonic()
                assert self.viewed.get(self.path).status == 200
                self.times.append(time.monotonic() - began)
            return
        connection = self.viewed.connect()
        connection.request("GET", self.path, headers={"Accept": "text/event-stream"})
        response = connection.getresponse()
        while not self.stop.is_set() and response.readline():
            pass
        connection.close()


@pytest.mark.parametrize("again", [False, pytest.param(True, marks=pytest.mark.long)], ids=["live", "asked for again and again"])
@pytest.mark.parametrize("path", ["/tenants", *(pytest.param(path, marks=pytest.mark.long) for path in ("/", "/jobs", "/batch"))])
def test_all_viewers_of_a_page_cost_one_statement_a_second(conn, world, viewed, path, again):
    """Of each kind that the page runs once."""
    place = with_parameters(path, parameters(world, path))
    conn.execute("SELECT pg_stat_statements_reset()")
    assert viewed.get(place).status == 200
    once = dict(conn.execute(CALLS).fetchall())
    conn.execute("SELECT pg_stat_statements_reset()")
    began = time.monotonic()
    looking = [Looking(viewed, place, again) for _ in range(VIEWERS)]
    time.sleep(SECONDS)
    for each in looking:
        each.stop.set()
    elapsed = time.monotonic() - began
    calls = conn.execute(CALLS).fetchall()
    assert calls
    for query, number in calls:
        assert number <= (elapsed + 1) * once.get(query, 1), (query, calls)
    for each in looking:
        each.join(10)


def test_a_statement_that_takes_long_is_given_up(conn, viewed):
    """After two seconds, and the page says so; others are shown."""
    with conn.transaction():
        conn.execute("LOCK TABLE turnstile.queue IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        answer = viewed.get("/queues")
        took = time.monotonic() - began
        assert (answer.status, "57014" in answer.text) == (503, True), answer.text
        assert 1.5 < took < 4
        assert viewed.get("/recurring").status == 200
    until(lambda: viewed.get("/queues").status == 200, "it is shown again")


def test_a_page_that_nobody_needs_costs_nothing(conn, viewed):
    """Who hangs up while the server works does not keep it busy."""
    with conn.transaction():
        conn.execute("LOCK TABLE turnstile.queue IN ACCESS EXCLUSIVE MODE")
        for _ in range(5):
            connection = viewed.connect()
            connection.request("GET", "/queues")
            time.sleep(0.05)
            connection.close()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        until(lambda: conn.execute(waits).fetchone() == (0,), "nobody waits")
    assert viewed.get("/queues").status == 200


def test_pages_say_how_long_they_took(world, viewed):
    for path in pages():
        answer = viewed.get(path, parameters(world, path))
        if answer.status == 200:
            name, _, took = answer.headers["Server-Timing"].partition(";dur=")
            assert name == "page" and 0 <= float(took) < 2_000, path


def test_connections_are_named_and_few(conn, world, viewed):
    looking = [Looking(viewed, path, True) for path in ("/", "/queues", "/tenants", "/jobs") for _ in range(5)]
    time.sleep(1)
    found = conn.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'turnstile serve' AND datname = current_database()").fetchone()[0]
    for each in looking:
        each.stop.set()
        each.join(10)
    assert 1 <= found <= 5
