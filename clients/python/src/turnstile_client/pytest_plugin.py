"""A fixture for tests with jobs: a connection in a transaction that is rolled back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest


@pytest.fixture
def turnstile_dsn() -> str:
    """Override it to say where the database is; by default DATABASE_URL, or what the PG variables say."""
    return os.environ.get("DATABASE_URL", "")


@pytest.fixture
def turnstile_conn(turnstile_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(turnstile_dsn) as conn:
        yield conn
        conn.rollback()
