"""Fixtures of the tests of the program: workers on the test's own database, of which nothing may be left."""

import pytest

from support.calls import call
from support.work import Work


@pytest.fixture
def work(db, conn):
    """Starts `turnstile work`; in the end those that still run are killed, and no process may be left of any."""
    call(conn, "set_queue", name="*", retry_base="1 hour", retry_cap="1 hour")
    started = []

    def start(*arguments, command: list, database: str | None = None, **more) -> Work:
        started.append(Work(database or db.name, *arguments, command=command, **more))
        return started[-1]

    yield start
    for each in started:
        each.kill()
    for each in started:
        each.leaves_nothing()
