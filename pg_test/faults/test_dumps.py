"""A dump carries the whole queue: what is restored from it can be claimed."""

import os

import pytest

from faults.mixture import admits_what_may_run, fill
from faults.restores import restored
from faults.witness import passed
from support import rows
from support.calls import claim_next, complete, enqueue
from support.sweep import running_by_gate

DUMPS = {"custom": ["-Fc"], "plain": ["-Fp"], "as inserts": ["-Fc", "--inserts"]}


@pytest.mark.parametrize("options", DUMPS.values(), ids=DUMPS.keys())
def test_a_restored_dump_is_claimable(db, conn, tmp_path, options, seed):
    slots, made = fill(conn, seed)
    before = rows.everything(conn)
    running = running_by_gate(conn)
    with restored(db, conn, os.fspath(tmp_path / "dump"), options) as copy:
        there = copy.connect()
        assert rows.everything(there) == before
        assert running_by_gate(there) == running
        assert passed(running, slots) == {}
        new = enqueue(there, queue="q1")
        assert new > max(made), "the ids go on where they were"
        position = "SELECT position FROM turnstile.job WHERE id = %s"
        last = there.execute("SELECT max(position) FROM turnstile.job WHERE id <> %s", [new]).fetchone()[0]
        assert there.execute(position, [new]).fetchone()[0] > last, "new jobs queue behind the others"
        admits_what_may_run(there, slots, [*made, new])
    admits_what_may_run(conn, slots, made)


@pytest.mark.parametrize("options", DUMPS.values(), ids=DUMPS.keys())
def test_a_restored_dump_has_all_settings(db, conn, tmp_path, options):
    """Those of the default row, too: what was to be kept for ever must not go after a restore."""
    conn.execute("UPDATE turnstile.queue SET keep_completed = '-1', lease = '1 hour' WHERE name = '*'")
    conn.execute("INSERT INTO turnstile.queue (name, keep_discarded) VALUES ('mail', '1 day')")
    settings = "SELECT q::text FROM turnstile.queue q ORDER BY name"
    before = conn.execute(settings).fetchall()
    with restored(db, conn, os.fspath(tmp_path / "dump"), options) as copy:
        assert copy.connect().execute(settings).fetchall() == before


def test_a_restored_dump_knows_who_holds_which_key(db, conn, tmp_path):
    key = {"unique_key": "k", "tenant": "t"}
    expired = {"unique_key": "e", "unique_mode": "until_expired", "unique_for": "1 day"}
    alone = {"unique_key": "a", "unique_mode": "until_and_while_executing"}
    enqueue(conn, **key)
    enqueue(conn, **expired)
    complete(conn, claim_next(conn))
    holders = [enqueue(conn, **arguments) for arguments in (key, expired, alone)]
    assert [claim_next(conn).id for _ in holders] == sorted(holders)
    with restored(db, conn, os.fspath(tmp_path / "dump"), ["-Fc"]) as copy:
        there = copy.connect()
        again = [enqueue(there, **arguments) for arguments in (key, expired, alone)]
        assert again[:2] == holders[:2]
        assert again[2] != holders[2], "it runs"
        assert claim_next(there) is None, "so its successor waits"
