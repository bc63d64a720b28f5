"""Workers of examples/, each connected to the server itself and through PgBouncer in transaction mode."""

import os

import pytest

from support.calls import call
from support.examples import COMMANDS, Worker
from support.pgbouncer import pgbouncer


@pytest.fixture
def pooler(db):
    """It is gone before the test's database is looked at in the end."""
    with pgbouncer(db.name) as pooler:
        yield pooler


@pytest.fixture(params=["direct", "pgbouncer"])
def url(request, db):
    """Where workers find the test's database."""
    port = request.getfixturevalue("pooler").port if request.param == "pgbouncer" else os.environ["PGPORT"]
    return f"postgresql://{os.environ['PGUSER']}@127.0.0.1:{port}/{db.name}"


@pytest.fixture(params=COMMANDS)
def language(request):
    return request.param


@pytest.fixture
def crew(url, conn):
    """Starts workers; those that still run when the test ends are killed."""
    call(conn, "set_queue", name="*", retry_base="10 milliseconds")
    workers = []

    def start(language: str) -> Worker:
        workers.append(Worker(language, url))
        return workers[-1]

    yield start
    for worker in workers:
        worker.kill()
