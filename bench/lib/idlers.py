"""Connections that wait for work while something else is measured."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from lib.database import Database


@contextmanager
def sleepers(number: int, queue: str) -> Iterator[None]:
    """So many sleep in the server. Whoever closes a connection wakes its sleeper."""
    connections = [psycopg.connect(autocommit=True) for _ in range(number)]
    call = f"CALL turnstile.wait_for_job(ARRAY['{queue}'], '1 hour')".encode()
    for connection in connections:
        connection.pgconn.send_query(call)
        connection.pgconn.flush()
    try:
        yield
    finally:
        for connection in connections:
            connection.close()


@contextmanager
def listeners(queues: list[str]) -> Iterator[None]:
    """One for each queue, who was told that it is empty."""
    databases = []
    for queue in queues:
        database = Database()
        databases.append(database)
        channel = database.value("wake_up/listen_channel.sql", queue=queue)
        database.connection.execute(f"LISTEN {channel}")
        database.run("wake_up/claim_next.sql", queue=queue)
    try:
        yield
    finally:
        for database in databases:
            database.close()
