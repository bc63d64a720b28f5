"""The conformance suite: each library of clients/, crates/client and the worker in bash, directly and through PgBouncer."""

from dataclasses import dataclass

import psycopg
import pytest

from support.database import Database, fresh_database
from support.drivers import LANGUAGES, WAYS, Driver, capabilities, reached, settle


def pytest_generate_tests(metafunc):
    """By language first, so that those that share a worker follow each other."""
    if "language" in metafunc.fixturenames:
        metafunc.parametrize("language", LANGUAGES, scope="module")
    if "way" in metafunc.fixturenames:
        metafunc.parametrize("way", WAYS, scope="module")


@pytest.fixture(autouse=True)
def able(request):
    """What a language lacks is listed in clients/README.md; `test_page.py` compares."""
    marker = request.node.get_closest_marker("needs")
    if marker and not set(marker.args) <= capabilities(request.getfixturevalue("language")):
        pytest.skip(f"it lacks {', '.join(sorted(set(marker.args) - capabilities(request.getfixturevalue('language'))))}")


@dataclass
class Served:
    """A database, and a worker in it that goes on from test to test."""

    language: str
    database: Database
    conn: psycopg.Connection
    driver: Driver

    def can(self, what: str) -> bool:
        return what in self.driver.can


@pytest.fixture(scope="module")
def served(language, way):
    with fresh_database() as database, reached(way, database.name) as place:
        conn = database.connect()
        settle(conn)
        driver = Driver(language, place, queues="default,quick", heartbeat=0.2, drain=1, grace=1).ready()
        yield Served(language, database, conn, driver)
        driver.terminate()
        driver.leaves()


@pytest.fixture
def place(db, way):
    """It is gone before the test's database is looked at in the end."""
    with reached(way, db.name) as place:
        yield place


@pytest.fixture
def start(place, conn, language):
    """Starts workers; those that still run when the test ends are killed."""
    settle(conn)
    started = []

    def start(**options) -> Driver:
        started.append(Driver(language, place, **options))
        return started[-1].ready()

    yield start
    for driver in started:
        driver.kill()
