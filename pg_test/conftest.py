"""Fixtures of the black-box tests: real connections and commits, and a fresh database for each test or module.

The server is found through the libpq environment (PGHOST, PGPORT, PGUSER, PGDATABASE). It keeps only a few
schedulers at once, so every database is dropped before the next one of its scope is made.
"""

import random
import secrets

import pytest
from psycopg import sql

from support.database import Database, checked_database, drop_template, fresh_database, server


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, help="repeat the random tests with this seed (each test prints its own)")


def pytest_terminal_summary(terminalreporter):
    """How to repeat what failed, where chance had a part in it."""
    for report in [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]:
        for seed in [value for name, value in getattr(report, "user_properties", []) if name == "seed"]:
            terminalreporter.write_line(f"REPEAT {report.nodeid} with --seed {seed}")


@pytest.fixture(scope="session", autouse=True)
def template():
    yield
    drop_template()


@pytest.fixture
def db():
    """A database of this test's own."""
    with checked_database() as database:
        yield database


@pytest.fixture
def conn(db: Database):
    return db.connect()


@pytest.fixture
def other(db: Database):
    """A second connection to the test's database."""
    return db.connect()


@pytest.fixture(scope="module")
def module_db():
    """A database that all tests of a module share: for tests that leave no job behind."""
    with fresh_database() as database:
        yield database


@pytest.fixture(scope="module")
def module_conn(module_db: Database):
    return module_db.connect()


@pytest.fixture
def seed(request):
    """The seed of a random test, printed so that a failure can be repeated with --seed."""
    chosen = request.config.getoption("--seed")
    if chosen is None:
        # The test's own name keeps its cases apart and the same from one run to the next.
        chosen = random.Random(request.node.name).randrange(2**31)
    print(f"seed {chosen}")
    request.node.user_properties.append(("seed", chosen))
    return chosen


@pytest.fixture
def prepared_name(db: Database):
    """A name for PREPARE TRANSACTION, which a server refuses as it comes; what was prepared is rolled back."""
    with server() as admin:
        if admin.execute("SHOW max_prepared_transactions").fetchone() == ("0",):
            pytest.fail("the test cluster needs max_prepared_transactions = 10")
        yield db.name
        if admin.execute("SELECT 1 FROM pg_prepared_xacts WHERE gid = %s", [db.name]).fetchone():
            db.connect().execute(f"ROLLBACK PREPARED '{db.name}'")


@pytest.fixture
def role(db: Database):
    """A role without any right, dropped with all that it was granted."""
    name = f"turnstile_role_{secrets.token_hex(6)}"
    with server() as admin:
        admin.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(name)))
    yield name
    with db.connect() as owner:
        if owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone():
            owner.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))
