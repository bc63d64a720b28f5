"""What is read of a row is what its column holds: a column of another type is told, and never read as what it is not."""

import pytest

from support.calls import call
from support.errors import WRONG_TYPE, refused

# Views keep ALTER TABLE from doing it.
OTHER_TYPE = """
UPDATE pg_attribute SET atttypid = 'bytea'::regtype
WHERE attrelid = 'turnstile.job'::regclass AND attname = %s
"""


@pytest.mark.parametrize("column", ["kind", "queue", "state"])
def test_a_column_that_is_no_text_any_more(conn, column):
    call(conn, "enqueue", kind="k")
    with conn.transaction(force_rollback=True):
        conn.execute(OTHER_TYPE, [column])
        with refused(WRONG_TYPE):
            call(conn, "enqueue", kind="k")
    call(conn, "enqueue", kind="k")
