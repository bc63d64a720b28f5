"""What users have changed about the tables, in a dump and after its restore (docs/operations.md)."""

import os

import psycopg
import pytest

from faults.restores import dump, plain, restore, restored
from support import rows
from support.calls import claim_next, complete, enqueue, enqueue_times
from support.database import fresh_database
from support.history import days_ago, finish, maintain, make_day, partition_of, partitions

FORMS = {
    "plain": (["-Fp"], []),
    "custom": (["-Fc"], []),
    "directory, parallel": (["-Fd", "-j4"], ["-j4"]),
    "inserts": (["-Fc", "--inserts"], []),
    "one transaction": (["-Fc"], ["--single-transaction"]),
    "sections": (["-Fc"], ["--section=pre-data", "--section=data", "--section=post-data"]),
}

ON_THE_HISTORY = {
    "an index": "CREATE INDEX own ON turnstile.job_history (tenant, (upper(kind))) WHERE state <> 'completed'",
    "an index with a strange name": 'CREATE INDEX "Own; "" ATTACH PARTITION x;" ON turnstile.job_history (tenant)',
    "a unique index": "CREATE UNIQUE INDEX own ON turnstile.job_history (id, finished_at DESC) INCLUDE (state)",
    "an index with options": "CREATE INDEX own ON turnstile.job_history USING brin (created_at) WITH (pages_per_range = 8)",
    "an index like that of the partitions": "CREATE INDEX own ON turnstile.job_history (id)",
    "a primary key": "ALTER TABLE turnstile.job_history ADD PRIMARY KEY (id, finished_at)",
    "a unique constraint": "ALTER TABLE turnstile.job_history ADD CONSTRAINT own UNIQUE (id, finished_at)",
    "a CHECK": "ALTER TABLE turnstile.job_history ADD CONSTRAINT own CHECK (attempt >= 0 AND kind <> ';')",
    "a column": 'ALTER TABLE turnstile.job_history ADD "Own" numeric(10, 2)',
    "a column with a default": "ALTER TABLE turnstile.job_history ADD own text COLLATE \"C\" NOT NULL DEFAULT 'x;y'",
    "a generated column": "ALTER TABLE turnstile.job_history ADD own int GENERATED ALWAYS AS (attempt + 1) STORED",
    "a column, its index and its CHECK": "ALTER TABLE turnstile.job_history ADD own text DEFAULT 'x' CHECK (own <> 'y');"
    "CREATE INDEX ON turnstile.job_history (own, finished_at)",
    "a foreign key to it": "ALTER TABLE turnstile.job_history ADD UNIQUE (id, finished_at);"
    "CREATE TABLE own (id bigint, at timestamptz, FOREIGN KEY (id, at) REFERENCES turnstile.job_history (id, finished_at));"
    "INSERT INTO own SELECT id, finished_at FROM turnstile.job_history",
    "views": "CREATE VIEW own AS SELECT jobs.id, h.result FROM turnstile.jobs LEFT JOIN turnstile.job_history h USING (id)",
}

# pg_dump leaves these out; they do not keep it from anything.
NOT_CARRIED = {
    "an index on the jobs": "CREATE INDEX own ON turnstile.job (kind)",
    "a CHECK on the jobs": "ALTER TABLE turnstile.job ADD CONSTRAINT own CHECK (attempt >= 0)",
    "a trigger on the jobs": "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER own AFTER INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION own()",
    "a trigger on the history": "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER own AFTER INSERT ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION own()",
    "a foreign key from the history": "CREATE TABLE own (name text PRIMARY KEY);"
    "INSERT INTO own SELECT DISTINCT queue FROM turnstile.job_history;"
    "ALTER TABLE turnstile.job_history ADD FOREIGN KEY (queue) REFERENCES own",
    "storage": "ALTER TABLE turnstile.job_history ALTER payload SET STORAGE EXTERNAL, ALTER result SET COMPRESSION pglz;"
    "ALTER TABLE turnstile.job SET (fillfactor = 40)",
    "statistics": "CREATE STATISTICS turnstile.own ON queue, tenant FROM turnstile.job_history",
    "a column that must not be NULL": "UPDATE turnstile.job_history SET tenant = 't';"
    "ALTER TABLE turnstile.job_history ALTER tenant SET NOT NULL",
    "an own default": "ALTER TABLE turnstile.job_history ALTER result SET DEFAULT '{}'",
    "a publication": "CREATE PUBLICATION own FOR TABLE turnstile.job_history, turnstile.job",
    "row security": "ALTER TABLE turnstile.job_history ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY own ON turnstile.job_history USING (queue <> 'x')",
}

_HISTORY = "'turnstile.job_history'::regclass"
_DEFINITION = f"""
SELECT attname::text, format_type(atttypid, atttypmod), attcollation::regcollation::text, attnotnull::text,
    attgenerated::text || pg_get_expr(adbin, adrelid)
FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
WHERE attrelid = {_HISTORY} AND attnum > 0 AND NOT attisdropped
UNION ALL
SELECT conname, pg_get_constraintdef(oid), contype::text, convalidated::text, NULL
FROM pg_constraint WHERE conrelid = {_HISTORY} AND contype IN ('c', 'p', 'u')
UNION ALL
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisvalid::text, indisprimary::text,
    (SELECT count(*) FROM pg_inherits WHERE inhparent = indexrelid)::text
FROM pg_index WHERE indrelid = {_HISTORY}
ORDER BY 1, 2
"""  # noqa: S608


def _fill(conn) -> None:
    """Live jobs and finished ones: of days with a partition, of a day long ago, and in the default one."""
    enqueue_times(conn, 3, tenant="t")
    complete(conn, claim_next(conn))
    make_day(conn, 10)
    for days in (0, 5, 10, -30):
        finish(conn, days, 2)


def _is_restored_whole(db, conn, path, options: list[str], more: list[str]) -> None:
    before = rows.everything(conn)
    with restored(db, conn, path, options, more) as copy:
        there = copy.connect()
        assert rows.everything(there) == before
        assert there.execute(_DEFINITION).fetchall() == conn.execute(_DEFINITION).fetchall()
        assert partitions(there) == partitions(conn)
        there.execute("SELECT turnstile.make_history_partitions(9)")
        finish(there, -9)
        assert None not in maintain(there).values()


@pytest.mark.parametrize("change", ON_THE_HISTORY.values(), ids=ON_THE_HISTORY.keys())
def test_a_restore_has_the_history_with_what_was_added(db, conn, tmp_path, change):
    _fill(conn)
    conn.execute(change)
    _is_restored_whole(db, conn, os.fspath(tmp_path / "dump"), ["-Fp"], [])


@pytest.mark.parametrize(("options", "more"), FORMS.values(), ids=FORMS.keys())
def test_a_dump_of_any_form_can_be_restored(db, conn, tmp_path, options, more):
    _fill(conn)
    for name in ("an index with a strange name", "a CHECK", "a column, its index and its CHECK", "a foreign key to it", "views"):
        conn.execute(ON_THE_HISTORY[name].replace(" own ", " own_thing ") if name == "views" else ON_THE_HISTORY[name])
    _is_restored_whole(db, conn, os.fspath(tmp_path / "dump"), options, more)


@pytest.mark.parametrize("change", NOT_CARRIED.values(), ids=NOT_CARRIED.keys())
def test_what_is_not_carried_does_not_stop_a_restore(db, conn, tmp_path, change):
    _fill(conn)
    conn.execute(change)
    before = rows.everything(conn)
    with restored(db, conn, os.fspath(tmp_path / "dump"), ["-Fp"]) as copy:
        there = copy.connect()
        assert rows.everything(there) == before
        enqueue(there)
        assert complete(there, claim_next(there)) is True
        assert None not in maintain(there).values()


def test_the_dump_of_a_restored_database_is_the_same(db, conn, tmp_path):
    """A second restore has what the first had."""
    _fill(conn)
    for name in ("an index", "a primary key", "a CHECK", "a column"):
        conn.execute(ON_THE_HISTORY[name].replace("CONSTRAINT own", "CONSTRAINT own_check"))
    with restored(db, conn, os.fspath(tmp_path / "dump"), ["-Fp"]) as copy:
        assert plain(copy, conn) == plain(db, conn)


def test_a_dump_of_definitions_alone_can_be_restored(db, conn, tmp_path):
    conn.execute(ON_THE_HISTORY["a column, its index and its CHECK"])
    with restored(db, conn, os.fspath(tmp_path / "dump"), ["-Fp", "--schema-only"]) as copy:
        there = copy.connect()
        assert there.execute(_DEFINITION).fetchall() == conn.execute(_DEFINITION).fetchall()
        enqueue(there)
        assert claim_next(there) is not None


def test_grants_are_carried(db, conn, tmp_path, role):
    conn.execute(f"GRANT USAGE ON SCHEMA turnstile TO {role}; GRANT SELECT ON turnstile.job_history TO {role}")
    finish(conn, 0)
    with restored(db, conn, os.fspath(tmp_path / "dump"), ["-Fp"]) as copy:
        there = copy.connect()
        there.execute(f"SET ROLE {role}")
        assert there.execute("SELECT count(*) FROM turnstile.job_history").fetchone() == (1,)
        there.execute("RESET ROLE")
        # Of the grants in the copy the fixture knows nothing.
        there.execute(f"DROP OWNED BY {role}")


@pytest.mark.parametrize(
    "options",
    [["-n", "turnstile"], ["-n", "turnstile", "-s"], ["-t", "turnstile.job_history*"], ["-t", "turnstile.job_history_default"],
     ["-a"], ["--binary-upgrade", "-s"], ["-T", "turnstile.job_history_default"]],
    ids=" ".join,
)  # fmt: skip
def test_parts_of_a_database_can_be_dumped(db, conn, tmp_path, options):
    _fill(conn)
    dump(db, conn, os.fspath(tmp_path / "dump"), *options)


def test_a_dump_has_all_partitions_alike(db, conn):
    make_day(conn, 10)
    text = plain(db, conn, "-n", "turnstile")
    for partition in [*partitions(conn), "turnstile.job_history_default"]:
        assert text.count(f"CREATE TABLE {partition} (") == 1
        assert text.count(f"ATTACH PARTITION {partition} ") == 1
        assert text.count(f"COPY {partition} (") == 1


def test_the_schema_alone_can_be_restored(db, conn, tmp_path):
    """With the extension itself: the schema, as a part of it, has no data of its own."""
    _fill(conn)
    conn.execute("UPDATE turnstile.queue SET lease = '1 hour' WHERE name = '*'")
    before = rows.everything(conn)
    path = os.fspath(tmp_path / "dump")
    dump(db, conn, path, "-Fc", "-n", "turnstile", "-e", "turnstile")
    with fresh_database(extension=False) as copy:
        restore(copy, conn, path)
        there = copy.connect()
        assert rows.everything(there) == before
        assert there.execute("SELECT count(*) FROM turnstile.queue WHERE lease = '1 hour'").fetchone() == (1,)


OWN_COLUMNS = """
ALTER TABLE turnstile.job ADD COLUMN note text NOT NULL DEFAULT 'x';
ALTER TABLE turnstile.job ADD COLUMN more int GENERATED ALWAYS AS (attempt + 1) STORED;
"""
OWN_REST = """
CREATE INDEX own ON turnstile.job (note);
ALTER TABLE turnstile.job ADD CONSTRAINT own CHECK (note <> '');
ALTER TABLE turnstile.job_history ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON turnstile.job_history USING (queue <> 'x');
ALTER TABLE turnstile.job_history ADD FOREIGN KEY (queue) REFERENCES own_queue;
CREATE TRIGGER own AFTER INSERT ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION own_trigger();
CREATE TRIGGER own AFTER INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION own_trigger();
"""
_OWN = """
SELECT conrelid::regclass::text || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'turnstile'::regnamespace
UNION ALL SELECT pg_get_triggerdef(oid) || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'turnstile'
UNION ALL SELECT polname || polrelid::regclass::text FROM pg_policy
ORDER BY 1
"""


def test_with_two_scripts_of_ones_own_everything_is_restored(db, conn, tmp_path):
    """The recipe of docs/operations.md. Without it the rows of the jobs have nowhere to go."""
    _fill(conn)
    conn.execute(
        "CREATE TABLE own_queue (name text PRIMARY KEY); INSERT INTO own_queue VALUES ('default');"
        "CREATE TABLE own_seen (id bigint);"
        "CREATE FUNCTION own_trigger() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN INSERT INTO public.own_seen VALUES (NEW.id); RETURN NULL; END'"
    )
    conn.execute(OWN_COLUMNS)
    conn.execute(OWN_REST)
    conn.execute("UPDATE turnstile.job SET note = 'y'")
    before = rows.everything(conn)
    path = os.fspath(tmp_path / "dump")
    dump(db, conn, path, "-Fc")
    with fresh_database(extension=False) as copy:
        with pytest.raises(AssertionError, match='column "note" of relation "job" does not exist'):
            restore(copy, conn, path)
    with fresh_database(extension=False) as copy:
        restore(copy, conn, path, "--section=pre-data")
        there = copy.connect()
        there.execute(OWN_COLUMNS)
        restore(copy, conn, path, "--section=data", "--section=post-data")
        there.execute(OWN_REST)
        assert rows.everything(there) == before
        assert there.execute("TABLE own_seen").fetchall() == conn.execute("TABLE own_seen").fetchall() == []
        assert there.execute(_OWN).fetchall() == conn.execute(_OWN).fetchall()
        assert None not in maintain(there).values()


def test_what_a_restore_may_do_no_other_role_may(db, conn, tmp_path):
    """A session that attaches a table with more columns is told of the mistake."""
    with restored(db, conn, os.fspath(tmp_path / "dump"), ["-Fp"]) as copy:
        there = copy.connect()
        there.execute("CREATE TABLE turnstile.own (LIKE turnstile.job_history, note text)")
        with pytest.raises(psycopg.errors.DatatypeMismatch):
            there.execute(
                "ALTER TABLE ONLY turnstile.job_history ATTACH PARTITION turnstile.own"
                " FOR VALUES FROM ('2020-01-01 00:00:00+00') TO ('2020-01-02 00:00:00+00');"
            )


def test_a_restored_extension_leaves_nothing_when_it_is_dropped(db, conn, tmp_path):
    _fill(conn)
    with restored(db, conn, os.fspath(tmp_path / "dump"), ["-Fp"]) as copy:
        there = copy.connect()
        there.execute("DROP EXTENSION turnstile")
        assert there.execute("SELECT to_regnamespace('turnstile')").fetchone() == (None,)
        assert there.execute("SELECT evtname FROM pg_event_trigger").fetchall() == []
