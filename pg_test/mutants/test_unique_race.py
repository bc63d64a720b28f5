"""Two producers want the same unique key at the same moment: the second waits until the first has it or not."""

import psycopg
import pytest

from support.calls import enqueue


def test_a_key_that_is_being_taken_is_waited_for(db, conn, other):
    enqueue(conn, unique_key="another")
    assert enqueue(other, unique_key="another") == 1
    conn.execute("BEGIN")
    first = enqueue(conn, unique_key="key")
    other.execute("SET statement_timeout = 200")
    with pytest.raises(psycopg.errors.QueryCanceled):
        enqueue(other, unique_key="key")
    conn.execute("COMMIT")
    assert enqueue(other, unique_key="key") == first
