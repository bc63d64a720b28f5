"""Fixtures of the tests of `turnstile dispatch`: endpoints of their own, and dispatchers of which nothing may be left."""

import contextlib

import pytest

from support.calls import call
from support.dispatch import Dispatch
from support.endpoints import Endpoints
from support.pgbouncer import free_port


@pytest.fixture
def endpoints():
    with contextlib.closing(Endpoints()) as opened:
        yield opened


@pytest.fixture
def dispatch(db, conn):
    """Starts `turnstile dispatch`; in the end those that still run are killed."""
    call(conn, "set_queue", name="*", retry_base="1 hour", retry_cap="1 hour")
    started = []

    def start(*arguments, database: str | None = None, **environment) -> Dispatch:
        started.append(Dispatch(database or db.name, *arguments, **environment))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def callbacks(tmp_path):
    """Arguments that open the listener for calls back, and lead endpoints to it."""
    key = tmp_path / "callback-key"
    key.write_text("a key of the test's own, long enough for anybody\n")
    key.chmod(0o600)
    address = f"127.0.0.1:{free_port()}"
    return ["--callbacks", address, "--callback-url", f"http://{address}", "--callback-key", key]
