"""What the tests of examples/apps share."""

import pytest

from support.apps import BIN, Process, Web, url_of


@pytest.fixture
def start():
    """Starts processes; those that still run when the test ends are killed."""
    processes = []

    def start(*arguments, **more) -> Process:
        processes.append(Process(*arguments, **more))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()


@pytest.fixture
def work(start, db):
    """Starts the worker of an application."""
    return lambda app, *words, **more: start(app, [BIN / "python", "worker.py", *words], url_of(db), **more)


@pytest.fixture
def web(start, db):
    """Starts the pages of an application."""
    return lambda app, **more: Web(start, app, url_of(db), **more)
