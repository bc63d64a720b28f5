"""Tables that are published: every verb goes on, and decoding tells of each change."""

import pytest

from faults.cluster import own_cluster
from support import rows
from support.calls import call, claim, claim_next, complete, discard, enqueue, enqueue_many, fail, ids
from support.database import disagreements, fresh_database
from support.history import drop_days, finish, kept, maintain, make_day, partitions

PUBLICATIONS = {
    "all tables": "FOR ALL TABLES",
    "all tables by their root": "FOR ALL TABLES WITH (publish_via_partition_root)",
    "the schema": "FOR TABLES IN SCHEMA turnstile",
    "the schema by its roots": "FOR TABLES IN SCHEMA turnstile WITH (publish_via_partition_root)",
    "the history": "FOR TABLE turnstile.job, turnstile.job_history",
    "the history by its root": "FOR TABLE turnstile.job, turnstile.job_history WITH (publish_via_partition_root)",
}


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_publications", fsync="off", max_connections=50, wal_level="logical") as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database
        assert disagreements(database) == []


@pytest.fixture
def slot(conn, db):
    name = f"slot_{db.name}"
    conn.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
    yield name
    with db.connect() as last:
        last.execute("SELECT pg_drop_replication_slot(%s)", [name])


def _changes(conn, slot: str) -> bytes:
    """The kinds of the messages that decoding sends: I, U, D, T and those of transactions and relations."""
    query = "SELECT get_byte(data, 0) FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, 'proto_version', '1',"
    return bytes(row[0] for row in conn.execute(query + " 'publication_names', 'own')", [slot]).fetchall())


@pytest.mark.parametrize("publication", PUBLICATIONS.values(), ids=PUBLICATIONS.keys())
def test_maintenance_goes_on(conn, slot, publication):
    """It deletes single jobs, drops whole days, makes others, and moves jobs out of the default partition."""
    conn.execute(f"CREATE PUBLICATION own {publication}")
    conn.execute("INSERT INTO turnstile.queue (name, keep_completed) VALUES ('audit', '-1')")
    conn.execute("SET client_min_messages = warning")
    drop_days(conn)
    ahead = finish(conn, -1, 2)
    finish(conn, 20, 3)
    stays = finish(conn, 20, queue="audit")
    over = make_day(conn, 10)
    finish(conn, 10, 2)
    done = [maintain(conn), maintain(conn)]
    assert all(None not in each.values() for each in done)
    assert sum(each["make partitions"] for each in done) == 8
    assert sum(each["drop partitions"] for each in done) == 1
    assert sum(each["thin history"] for each in done) == 3
    assert over not in partitions(conn)
    assert kept(conn) == {*ahead, *stays}
    assert _changes(conn, slot).count(b"D") >= 3


@pytest.mark.parametrize("publication", PUBLICATIONS.values(), ids=PUBLICATIONS.keys())
def test_every_verb_goes_on(conn, slot, publication):
    conn.execute(f"CREATE PUBLICATION own {publication}")
    made = [enqueue(conn, unique_key="k"), *ids(enqueue_many(conn, [{"kind": "work"}] * 5))]
    runs = claim(conn, ["default"], 5)
    assert complete(conn, runs[0]) is True
    discard(conn, runs[1])
    fail(conn, runs[2], retry_in="0")
    call(conn, "cancel", job_id=made[-1])
    call(conn, "retry", job_id=runs[1].id)
    conn.execute("DELETE FROM turnstile.job_history WHERE id = %s", [made[-1]])
    assert rows.state(conn, made[-1]) is None
    assert claim_next(conn) is not None
    assert None not in maintain(conn).values()
    kinds = _changes(conn, slot)
    assert min(kinds.count(kind) for kind in (b"I", b"U", b"D")) >= 1


def test_settings_and_notes_can_be_changed(conn, slot):
    conn.execute("CREATE PUBLICATION own FOR ALL TABLES")
    for statement in (
        "INSERT INTO turnstile.paused_session (queue, session) VALUES ('q', 's')",
        "INSERT INTO turnstile.tenant (name) VALUES ('t')",
        "INSERT INTO turnstile.account (tenant, name) VALUES ('t', 'a')",
        "INSERT INTO turnstile.concurrency (key) VALUES ('c')",
        "INSERT INTO turnstile.route (pattern) VALUES ('r')",
        "INSERT INTO turnstile.endpoint (pattern, url) VALUES ('e', 'http://a.example')",
        "INSERT INTO turnstile.retry_curve (kind, error_class) VALUES ('k', '*')",
        "INSERT INTO turnstile.slowed_key (key, one_at_a_time) VALUES ('k', true)",
        "INSERT INTO turnstile.recurring (name, cron, kind, paused_until) VALUES ('n', '* * * * *', 'k', 'infinity')",
        "INSERT INTO turnstile.unique_key VALUES ('', 'k', 1, 1, 'until_executed')",
        "INSERT INTO turnstile.permission VALUES ('pg_monitor', 'see', '*', '*')",
        "INSERT INTO turnstile.history_pass VALUES ('turnstile.job_history_default', 'p', true, 0, false, 0)",
    ):
        conn.execute(statement)
    tables = conn.execute(
        "SELECT c.oid::regclass::text, attname FROM pg_class c JOIN pg_attribute ON attrelid = c.oid AND attnum = 1"
        " WHERE relnamespace = 'turnstile'::regnamespace AND relkind = 'r' AND NOT relispartition ORDER BY 1"
    ).fetchall()
    assert len(tables) == 17
    there = sum(conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table, _ in tables)  # noqa: S608
    assert there > 9
    for table, column in tables:
        conn.execute(f"UPDATE {table} SET {column} = {column}; DELETE FROM {table}")  # noqa: S608
    kinds = _changes(conn, slot)
    assert (kinds.count(b"U"), kinds.count(b"D")) == (there, there)
