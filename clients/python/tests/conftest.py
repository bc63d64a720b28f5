"""A database of its own for each test, on the server that the PG variables name."""

import os
import secrets
import sys
from pathlib import Path

import psycopg
import pytest

from crew import Started

# For the PgBouncer and the relay of the other tests.
sys.path.append(str(Path(__file__).parents[3] / "pg_test"))


@pytest.fixture
def dsn():
    name = f"turnstile_client_{secrets.token_hex(6)}"
    with psycopg.connect("", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            with psycopg.connect(dbname=name, autocommit=True) as setup:
                setup.execute("CREATE EXTENSION turnstile")
            yield psycopg.conninfo.make_conninfo(dbname=name)
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def turnstile_dsn(dsn):
    return dsn


@pytest.fixture
def conn(dsn):
    with psycopg.connect(dsn, autocommit=True) as conn:
        yield conn


@pytest.fixture(params=["threads", "async"])
def kind(request):
    return request.param


@pytest.fixture
def work(kind, dsn):
    started = []

    def start(handlers, dsn=dsn, **settings):
        started.append(Started(kind, dsn, handlers, **settings))
        return started[-1]

    yield start
    for worker in started:
        if worker.thread.is_alive():
            worker.stop(hard=True)


def pytest_configure():
    if "PGHOST" not in os.environ:
        pytest.exit("no server to test: the PG variables must name one")
