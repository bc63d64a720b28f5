"""A database of its own for each test, on the server that the PG variables name."""

import os
import secrets

import psycopg
import pytest


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


def pytest_configure():
    if "PGHOST" not in os.environ:
        pytest.exit("no server to test: the PG variables must name one")
