"""Fixtures of the tests of `turnstile serve`: the program on the test's own database, with roles that have tokens."""

import secrets

import pytest
from psycopg import sql

from support.calls import call
from support.database import server
from support.serve import Serve


@pytest.fixture
def make_role(db):
    """Makes roles without any right, which are dropped with all that they were granted."""
    made = []

    def make(options: str = "NOLOGIN") -> str:
        name = f"turnstile_http_{secrets.token_hex(6)}"
        with server() as admin:
            admin.execute(sql.SQL("CREATE ROLE {} ").format(sql.Identifier(name)) + sql.SQL(options))
        made.append(name)
        return name

    yield make
    with db.connect() as owner:
        for name in map(sql.Identifier, made):
            owner.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(name))


@pytest.fixture
def producer(conn, make_role):
    """May add jobs everywhere, see and cancel all of them."""
    role = make_role()
    call(conn, "allow_producer", role=role)
    call(conn, "allow_tenant", role=role, tenants=["*"])
    return role


@pytest.fixture
def serve(db, tmp_path):
    """Starts `turnstile serve` with tokens for roles. What it has answered must be in its document."""
    started = []

    def start(*roles: str, arguments=(), database: str | None = None) -> Serve:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Serve(database or db.name, folder, list(roles), *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.is_documented()
            each.terminate()
            assert each.ended()[0] == 0, each.stderr()
        assert "panicked" not in each.stderr()
