"""A callback that is cut short by a panic: the room that its transaction had reserved must not outlive it."""

import contextlib

import psycopg
import pytest

from support.calls import claim, claim_all, complete_many, enqueue_times, ids
from support.settings import configure


@pytest.mark.parametrize("panic_at", range(1, 7))
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "ROLLBACK TO SAVEPOINT s"])
def test_a_callback_that_is_cut_short_leaves_no_room_reserved(db, conn, other, end, panic_at):
    configure(conn, "tenant", "acme", slots=2)
    made = enqueue_times(conn, 6, tenant="acme")
    other.execute("BEGIN; SAVEPOINT s")
    runs = claim(other, ["default"], 2)
    assert ids(runs) == made[:2]
    other.execute(f"SET turnstile.panic_at = {panic_at}")
    with contextlib.suppress(psycopg.Error):
        other.execute(end)
    if end == "COMMIT":
        assert complete_many(conn, runs) == 2
    else:
        other.execute("SET turnstile.panic_at = 0; COMMIT")
    assert len(claim_all(conn)) == 2
