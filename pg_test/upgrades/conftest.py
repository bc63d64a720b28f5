"""A role of users, which the databases of a test share."""

import secrets

import pytest
from psycopg import sql

from support.database import server


@pytest.fixture(scope="module")
def worker_role():
    name = f"turnstile_role_{secrets.token_hex(6)}"
    with server() as admin:
        admin.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(name)))
    yield name
    with server() as admin:
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))
