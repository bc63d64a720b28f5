"""What is read of a row is what its column holds: a column of another type is told, and never read as what it is not."""

import pytest

from support.calls import call
from support.errors import WRONG_TYPE, refused

JOB = {"kind": "k", "tenant": "acme", "session": "s"}
# Views keep ALTER TABLE from doing it.
OTHER_TYPE = """
UPDATE pg_attribute SET atttypid = 'bytea'::regtype
WHERE attrelid = 'turnstile.job'::regclass AND attname = %s
"""


@pytest.mark.parametrize("column", ["kind", "tenant", "session", "lease", "waited", "unique_states", "waits_for"])
def test_a_column_of_another_type(conn, column):
    call(conn, "enqueue", **JOB)
    with conn.transaction(force_rollback=True):
        conn.execute(OTHER_TYPE, [column])
        with refused(WRONG_TYPE):
            call(conn, "enqueue", **JOB)
    call(conn, "enqueue", **JOB)
