"""A move to a newer server by logical replication, while producers and workers go on until the switchover.

The commands are those of docs/operations.md. Only one side claims: the target begins when the source has stopped.
"""

import re
import time
from pathlib import Path

from failover.crew import OWN, Producer, Worker
from failover.ledger import Ledger
from faults.witness import agrees
from moves import content
from moves.conftest import VERSIONS
from support.node import await_true

DATABASE = "jobs"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
TABLES = re.search(r"CREATE PUBLICATION moving FOR TABLE\s+(.+?)\s+WITH", PAGE.read_text(), re.DOTALL)[1]
PUBLISHED = re.split(r",\s+", TABLES)
SEQUENCES = "SELECT format('%I.%I', schemaname, sequencename), last_value FROM pg_sequences WHERE schemaname = 'turnstile' AND last_value IS NOT NULL"
IS_COPIED = "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel"
HAS_ALL = "SELECT bool_and(confirmed_flush_lsn >= %s::pg_lsn) FROM pg_replication_slots WHERE slot_name = 'moving'"


def subscribe(old, new) -> None:
    """The target has the schema of the source, none of its rows, and follows it."""
    target = f"{new.address} dbname={DATABASE}"
    schema = new.home / "schema.dump"
    new.run("pg_dump", "-Fc", "--schema-only", "-f", schema, "-d", f"{old.address} dbname={DATABASE}")
    new.run("pg_restore", "--exit-on-error", "-d", target, schema)
    with new.connect(DATABASE) as conn:
        conn.execute(content.OWN_COLUMNS)
        conn.execute(content.OWN_REST)
        for table in PUBLISHED:
            conn.execute(f"DELETE FROM {table}")
    with old.connect(DATABASE) as conn:
        assert sorted(PUBLISHED) == [row[0] for row in conn.execute(content.TABLES)]
        conn.execute(f"CREATE PUBLICATION moving FOR TABLE {TABLES} WITH (publish_via_partition_root)")
    with new.connect(DATABASE) as conn:
        conn.execute(f"CREATE SUBSCRIPTION moving CONNECTION '{old.address} dbname={DATABASE}' PUBLICATION moving")
        await_true(lambda: conn.execute(IS_COPIED).fetchone()[0], "the tables are copied")


def switch_over(old, new) -> None:
    """Nobody writes to the source any more; what it has is on the target; numbers go on there."""
    with old.connect() as conn:
        conn.execute(f"ALTER DATABASE {DATABASE} ALLOW_CONNECTIONS false")
    with old.connect() as conn:
        clients = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"
        conn.execute(clients, [DATABASE])
        written = conn.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()[0]
        await_true(lambda: conn.execute(HAS_ALL, [written]).fetchone()[0], "the target has everything")
        reopen_for_reading(conn)
    with old.connect(DATABASE) as source, new.connect(DATABASE) as target:
        for sequence, last in source.execute(SEQUENCES).fetchall():
            target.execute("SELECT setval(%s, %s)", [sequence, last])
        target.execute("DROP SUBSCRIPTION moving")
        target.execute("SELECT turnstile.rebuild()")


def reopen_for_reading(conn) -> None:
    """As by hand, one after the other: workers connect again at once, and must not claim what the target has, too."""
    for change in ("SET default_transaction_read_only = on", "ALLOW_CONNECTIONS true"):
        conn.execute(f"ALTER DATABASE {DATABASE} {change}")
        time.sleep(0.5)


def test_a_move_under_load(make_node, seed):
    old, new = make_node(VERSIONS[0], "old"), make_node(VERSIONS[-1], "new")
    for node in (old, new):
        node.initialize()
        node.start()
        with node.connect() as conn:
            conn.execute(f"CREATE DATABASE {DATABASE}")
    with old.connect(DATABASE) as conn:
        conn.execute("CREATE EXTENSION turnstile")
        made = content.make(conn, seed)
        content.forget_strange_options(conn)
    with new.connect() as conn:
        content.make_role(conn)
    ledger = Ledger(is_synchronous=True)
    url = f"postgresql://postgres@127.0.0.1:{old.port}/{DATABASE}"
    members = [Producer(url, ledger, OWN), Worker(url, ledger), Worker(url, ledger)]
    try:
        subscribe(old, new)
        answers = len(ledger.completed) + 100
        await_true(lambda: len(ledger.completed) > answers, "jobs are done meanwhile")
        switch_over(old, new)
    finally:
        for member in members:
            member.stopping.set()
    with old.connect(DATABASE) as source, new.connect(DATABASE) as target:
        there, here = content.said(source), content.said(target)
        assert {name: here[name] for name in there} == there
        holds_what_was_acknowledged(target, ledger)
        agrees(target)
        end_the_load(target)
        content.goes_on(target, made)


def holds_what_was_acknowledged(conn, ledger) -> None:
    tokens = "SELECT payload->>'token' FROM turnstile.jobs WHERE payload ? 'token'"
    there = [row[0] for row in conn.execute(tokens)]
    assert len(there) == len(set(there))
    assert ledger.lost(set(there), ledger.enqueued) == []
    done = {row[0] for row in conn.execute(tokens + " AND state = 'completed'")}
    assert ledger.lost(done, ledger.completed) == []
    assert len(ledger.completed) > 50


def end_the_load(conn) -> None:
    """What is left of it can be claimed; then only the other jobs are there."""
    conn.execute("SELECT turnstile.complete(id, attempt) FROM turnstile.job WHERE state = 'running' AND payload ? 'token'")
    left = "SELECT count(*) FROM turnstile.job WHERE payload ? 'token'"
    claims = "SELECT turnstile.complete(id, attempt) FROM turnstile.claim('{mail,default}', 10)"
    await_true(lambda: conn.execute(claims).rowcount == 0 and conn.execute(left).fetchone()[0] == 0, "all are done")
    conn.execute("DELETE FROM turnstile.job_history WHERE payload ? 'token'")
