"""The program against the test cluster."""

import signal

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


@pytest.fixture
def hang_ups():
    """Sets what programs that are started from now on inherit for SIGHUP."""
    before = signal.getsignal(signal.SIGHUP)
    yield lambda how: signal.signal(signal.SIGHUP, how)
    signal.signal(signal.SIGHUP, before)
