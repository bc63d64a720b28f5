"""Ordinary roles that log in, and neighbours whose work has to go on whatever such a role does."""

import secrets

import psycopg
import pytest
from psycopg import sql

from support.calls import claim_next, complete, enqueue
from support.database import GUARDS, Database, server

RIGHTS = {
    "everything": ["USAGE ON SCHEMA turnstile, turnstile_internal", "EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal"],
}


class User:
    """A role that can log in, and its connections."""

    def __init__(self, db: Database, name: str):
        self.db, self.name = db, name
        self._connections: list[psycopg.Connection] = []

    def connect(self, autocommit: bool = True) -> psycopg.Connection:
        connection = psycopg.connect(dbname=self.db.name, user=self.name, autocommit=autocommit, options=GUARDS)
        self._connections.append(connection)
        return connection

    def grant(self, owner: psycopg.Connection, *rights: str) -> None:
        for right in rights:
            owner.execute(sql.SQL("GRANT " + right + " TO {}").format(sql.Identifier(self.name)))

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


@pytest.fixture
def make_user(db: Database):
    """Makes roles that may do everything to all jobs, as far as they are granted something; they go with all that they own."""
    made: list[User] = []

    def make(*rights: str) -> User:
        user = User(db, f"turnstile_user_{secrets.token_hex(6)}")
        with server() as admin:
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(user.name)))
        made.append(user)
        with db.connect() as owner:
            user.grant(owner, *rights)
            for verb in ("enqueue", "work", "manage", "see"):
                owner.execute("INSERT INTO turnstile.permission VALUES (%s::text::regrole, %s, '*', '*')", [user.name, verb])
        return user

    yield make
    for user in made:
        user.close()
    with db.connect() as owner:
        for user in made:
            owner.execute(sql.SQL("DROP OWNED BY {0} CASCADE; DROP ROLE {0}").format(sql.Identifier(user.name)))


@pytest.fixture
def intruder(make_user) -> User:
    """What `GRANT EXECUTE ON ALL FUNCTIONS` makes of a role, which is a grant that people do write."""
    return make_user(*RIGHTS["everything"])


class Neighbour:
    """Somebody else's producer and worker, with a queue and a tenant of their own."""

    def __init__(self, db: Database):
        self._producer, self._worker = db.connect(), db.connect()
        for connection in (self._producer, self._worker):
            # So that waiting for somebody counts as being stopped by him.
            connection.execute("SET lock_timeout = '5s'; SET statement_timeout = '30s'")

    def works(self, queue: str = "neighbours", every_queue: bool = False, **options) -> None:
        """Enqueues, claims and completes, as if nobody else were there."""
        options = {"tenant": "neighbour"} | options
        job_id = enqueue(self._producer, queue=queue, **options)
        while True:
            run = claim_next(self._worker, "*" if every_queue else queue)
            assert run is not None, "the neighbour's claim found nothing"
            assert complete(self._worker, run)
            if run.id == job_id:
                return
            assert every_queue, "there was no other job in the neighbour's queue"


@pytest.fixture
def neighbour(db: Database) -> Neighbour:
    return Neighbour(db)
