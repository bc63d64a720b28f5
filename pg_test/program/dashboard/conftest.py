"""Fixtures of the tests of the dashboard: a server of their own, which asks for passwords, and the program."""

import os

import pytest

from faults.cluster import own_cluster
from support.browser import Viewer, launched
from support.certificates import made_for
from support.dashboard import Dashboard, viewers_of
from support.dashboard_world import populate
from support.database import fresh_database

# By TCP with a password, by the socket as it comes.
RULES = """\
local all all trust
host all all all scram-sha-256
"""
SETTINGS = {"fsync": "off", "shared_preload_libraries": "turnstile, pg_stat_statements"}


@pytest.fixture(scope="session")
def certificates():
    with made_for(RULES) as made:
        yield made


@pytest.fixture(scope="session")
def own_server(certificates):
    """For all modules of this folder, which enter it; the tests of other folders stay where they are."""
    before = dict(os.environ)
    # Not that of another run.
    name = f"{os.environ.get('TURNSTILE_CLUSTER', 'program')}_dashboard"
    with own_cluster(name, hba_file=certificates.file("rules"), **SETTINGS) as cluster:
        _restore(before)
        yield cluster


@pytest.fixture(scope="module", autouse=True)
def guarded(own_server):
    before = dict(os.environ)
    own_server.enter()
    yield own_server
    _restore(before)


def _restore(environment: dict) -> None:
    os.environ.clear()
    os.environ.update(environment)


@pytest.fixture(scope="module")
def module_db(guarded):
    """A database that all tests of a module share."""
    with fresh_database() as database:
        yield database


@pytest.fixture(scope="module")
def viewers(module_db):
    with viewers_of(module_db) as made:
        yield made


@pytest.fixture(scope="module")
def world(module_db):
    return populate(module_db.connect())


@pytest.fixture(scope="module")
def dashboard(module_db):
    """Starts the program on the module's database."""
    started = []

    def start(*arguments, place: str | None = None, **more) -> Dashboard:
        started.append(Dashboard(place or f"dbname={module_db.name}", *arguments, **more))
        return started[-1]

    yield start
    for each in started:
        each.close()


# Not for longer: its event loop would be in the way of the tests of other folders.
@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


@pytest.fixture
def look_at(browser):
    """Opens a browser of its own for a viewer of a dashboard; none may complain."""
    opened = []

    def start(dashboard: Dashboard, **options) -> Viewer:
        opened.append(Viewer(browser, dashboard.url, **options))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
