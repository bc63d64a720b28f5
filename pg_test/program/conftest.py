"""The program against the test cluster."""

import pytest

from support import program
from support.relay import Relay


@pytest.fixture
def turnstile(db):
    """Runs the program on the test's database, and gives what it printed; it must succeed."""
    return lambda *arguments, **more: program.run(db.name, *arguments, **more)


@pytest.fixture
def attempt(db):
    """The same, whatever comes of it."""
    return lambda *arguments, **more: program.attempt("-d", db.name, *arguments, **more)


@pytest.fixture
def relay():
    opened = Relay()
    yield opened
    opened.cut()
