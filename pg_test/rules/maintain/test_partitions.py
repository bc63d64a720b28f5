"""Partitions of the history are made whatever users have hung on it, and alike whatever the caller has set."""

import contextlib
import datetime
import secrets

import psycopg
import pytest

from support import rows
from support.calls import claim_next, complete, enqueue
from support.database import fresh_database, server
from support.history import days_ago, drop_days, finish, kept, maintain, make_day, partition_of, partitions

OWN_THINGS = {
    "an index": "CREATE INDEX ON turnstile.job_history (tenant)",
    "an index on an expression": "CREATE INDEX ON turnstile.job_history (upper(kind)) WHERE state <> 'completed'",
    "a unique index": "CREATE UNIQUE INDEX ON turnstile.job_history (id, finished_at)",
    "an index like that of the partitions": "CREATE INDEX ON turnstile.job_history (id)",
    "a primary key": "ALTER TABLE turnstile.job_history ADD PRIMARY KEY (id, finished_at)",
    "a CHECK": "ALTER TABLE turnstile.job_history ADD CHECK (attempt >= 0)",
    "a CHECK that was not validated": "ALTER TABLE turnstile.job_history ADD CHECK (attempt >= 0) NOT VALID",
    "a column": "ALTER TABLE turnstile.job_history ADD note text",
    "a column with a default": "ALTER TABLE turnstile.job_history ADD note text COLLATE \"C\" NOT NULL DEFAULT 'x'",
    "a generated column": "ALTER TABLE turnstile.job_history ADD n int GENERATED ALWAYS AS (attempt + 1) STORED",
    "a column that is gone again": "ALTER TABLE turnstile.job_history ADD n int DEFAULT 1, ADD m int DEFAULT 2;"
    "ALTER TABLE turnstile.job_history DROP n",
    "a default": "ALTER TABLE turnstile.job_history ALTER result SET DEFAULT '{}'",
    "a column that must not be NULL": "UPDATE turnstile.job_history SET tenant = 't';"
    "ALTER TABLE turnstile.job_history ALTER tenant SET NOT NULL",
    "statistics": "CREATE STATISTICS turnstile.own ON queue, tenant FROM turnstile.job_history;"
    "ALTER TABLE turnstile.job_history ALTER kind SET STATISTICS 1000",
    "storage and compression": "ALTER TABLE turnstile.job_history ALTER payload SET STORAGE EXTERNAL,"
    "ALTER result SET COMPRESSION pglz",
    "a trigger": "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER own AFTER INSERT OR DELETE ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION own()",
    "a trigger that keeps rows": "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER own BEFORE DELETE ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION own()",
    "a foreign key from it": "CREATE TABLE own (name text PRIMARY KEY);"
    "INSERT INTO own SELECT DISTINCT queue FROM turnstile.job_history;"
    "ALTER TABLE turnstile.job_history ADD FOREIGN KEY (queue) REFERENCES own",
    "a foreign key to it": "ALTER TABLE turnstile.job_history ADD UNIQUE (id, finished_at);"
    "CREATE TABLE own (id bigint, at timestamptz, FOREIGN KEY (id, at) REFERENCES turnstile.job_history (id, finished_at));"
    "INSERT INTO own SELECT id, finished_at FROM turnstile.job_history",
    "a policy": "ALTER TABLE turnstile.job_history ENABLE ROW LEVEL SECURITY",
}


@pytest.mark.parametrize("thing", OWN_THINGS.values(), ids=OWN_THINGS.keys())
def test_own_things_on_the_history_do_not_stop_its_partitions(conn, thing):
    """Nor does the move of what fell into the default partition: no trigger and no foreign key takes it for a deletion."""
    drop_days(conn)
    finish(conn, 0, 3)
    finish(conn, -1, 3)
    with conn.transaction():
        conn.execute(thing)
    before = rows.everything(conn)
    done = maintain(conn)
    assert done["make partitions"] == 8
    assert None not in done.values()
    assert rows.everything(conn) == before
    for days in (0, -1):
        moved = conn.execute(f"SELECT count(*) FROM {partition_of(days_ago(conn, days))}").fetchone()  # noqa: S608
        assert moved == (3,)


def test_a_move_fires_no_trigger(conn):
    drop_days(conn)
    finish(conn, 0, 3)
    conn.execute(
        "CREATE TABLE seen (what text);"
        "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen VALUES (TG_OP); RETURN NULL; END';"
        "CREATE TRIGGER own AFTER INSERT OR DELETE ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION own()"
    )
    assert maintain(conn)["make partitions"] == 8
    assert conn.execute("TABLE seen").fetchall() == []
    finish(conn, 0)
    assert conn.execute("TABLE seen").fetchall() == [("INSERT",)], "of a job that is finished it is told"


def test_a_partition_has_what_the_history_has(conn):
    conn.execute(
        "ALTER TABLE turnstile.job_history ALTER payload SET STORAGE EXTERNAL, ALTER result SET COMPRESSION pglz,"
        " ADD note text DEFAULT 'x', ADD n int GENERATED ALWAYS AS (attempt + 1) STORED"
    )
    drop_days(conn)
    maintain(conn)
    columns = "SELECT attname, attstorage::text, attcompression::text, attgenerated::text, attnotnull, atthasdef"
    columns += " FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname"
    wanted = conn.execute(columns, ["turnstile.job_history"]).fetchall()
    for partition in partitions(conn):
        assert conn.execute(columns, [partition]).fetchall() == wanted
    finish(conn, 0)
    assert conn.execute("SELECT note, n FROM turnstile.job_history").fetchall() == [("x", 2)]


def test_all_partitions_tell_decoding_of_whole_rows(conn):
    identities = "SELECT DISTINCT relreplident::text FROM pg_class WHERE relnamespace = 'turnstile'::regnamespace"
    assert conn.execute(identities + " AND relname LIKE 'job_history%' AND relkind IN ('r', 'p')").fetchall() == [("f",)]


def test_no_partition_belongs_to_the_extension(conn):
    """So that a dump carries all of them alike; with the history they go all the same."""
    members = "SELECT count(*) FROM pg_depend WHERE deptype = 'e' AND objid IN (SELECT partition FROM turnstile.history_partition)"
    assert conn.execute(members).fetchone() == (0,)
    assert len(conn.execute("TABLE turnstile.history_partition").fetchall()) == 9
    conn.execute("DROP EXTENSION turnstile")
    assert conn.execute("SELECT relname FROM pg_class WHERE relname LIKE 'job\\_history%'").fetchall() == []
    conn.execute("CREATE EXTENSION turnstile")


def test_a_default_partition_that_is_gone_is_made_again_on_demand(conn):
    """Not by maintain(), which cannot tell whether a restore is about to bring it."""
    conn.execute("DROP TABLE turnstile.job_history_default")
    done = maintain(conn)
    assert done["make partitions"] is None
    assert {done[task] for task in ("rescue", "promote", "fire recurring", "thin history", "prune unique keys", "prune batches")} == {0}
    conn.execute("SELECT turnstile.make_history_partitions()")
    finish(conn, 10)
    assert conn.execute("SELECT count(*) FROM turnstile.job_history_default").fetchone() == (1,)


def test_a_partition_that_cannot_be_thinned_does_not_keep_the_others(conn):
    conn.execute("INSERT INTO turnstile.queue (name, keep_completed) VALUES ('audit', '-1')")
    for days in (9, 10, 11):
        make_day(conn, days)
        finish(conn, days)
        finish(conn, days, queue="audit")
    conn.execute(
        "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;"
        f"CREATE TRIGGER own BEFORE DELETE ON {partition_of(days_ago(conn, 10))} FOR EACH ROW EXECUTE FUNCTION own()"
    )
    conn.execute("SET client_min_messages = error")
    # One by one, in an order that nobody knows.
    assert sum(maintain(conn)["thin history"] or 0 for _ in range(2)) == 2
    assert len(kept(conn)) == 4


# ---- Hostile settings -------------------------------------------------------------------------------

STYLES = [("SQL, DMY", "Asia/Kolkata"), ("German", "Asia/Shanghai"), ("Postgres, MDY", "Europe/London"),
          ("ISO, DMY", "Pacific/Chatham"), ("SQL, MDY", "Australia/Lord_Howe"), ("Postgres, DMY", "<+0845>-8:45")]  # fmt: skip

HOSTILE = [
    "SET standard_conforming_strings = off",
    "SET quote_all_identifiers = on",
    "SET plpgsql.extra_errors = 'all'",
    "SET intervalstyle = 'sql_standard'",
    "SET search_path = pg_temp",
    "SET lc_messages = 'C'; SET escape_string_warning = on; SET transform_null_equals = on",
    "SET default_transaction_isolation = 'serializable'",
    "SET row_security = off",
]


def _setting(conn, style: str, zone: str) -> None:
    conn.execute("SELECT set_config('datestyle', %s, false), set_config('timezone', %s, false)", [style, zone])


@pytest.mark.parametrize(("style", "zone"), STYLES)
def test_bounds_are_the_same_for_everybody(conn, style, zone):
    # In London and on Lord Howe an hour, or half of one, comes twice on these days.
    for day in ("2026-10-25", "2026-10-26", "2026-04-04", "2026-04-05"):
        begins, ends = f"{day} 00:00+00", f"{datetime.date.fromisoformat(day) + datetime.timedelta(days=1)} 00:00+00"
        name = f'"history of {day}"'
        conn.execute(f"CREATE TABLE {name} PARTITION OF turnstile.job_history FOR VALUES FROM ('{begins}') TO ('{ends}')")  # fmt: skip
    query = "SELECT partition::oid, extract(epoch FROM begins), extract(epoch FROM ends) FROM turnstile.history_partition"
    before = conn.execute(query).fetchall()
    assert len(before) == 13
    _setting(conn, style, zone)
    assert conn.execute(query).fetchall() == before


@pytest.mark.parametrize(("style", "zone"), STYLES)
def test_maintenance_does_the_same_whatever_the_caller_has_set(conn, style, zone):
    """A day whose time is over by an hour goes, and one that has an hour left stays."""
    over, stays = make_day(conn, 10), make_day(conn, 9)
    drop_days_ahead = [name for name in partitions(conn) if name not in (over, stays)]
    for name in drop_days_ahead:
        conn.execute(f"DROP TABLE {name}")
    keep = "now() - date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + interval '9 days' - interval '1 hour'"
    conn.execute(f"UPDATE turnstile.queue SET (keep_completed, keep_discarded) = ({keep}, {keep}) WHERE name = '*'")  # noqa: S608
    for setting in HOSTILE:
        conn.execute(setting)
    _setting(conn, style, zone)
    done = maintain(conn)
    assert (done["make partitions"], done["drop partitions"]) == (8, 1)
    assert None not in done.values()
    conn.execute("RESET ALL")
    made = {partition_of(days_ago(conn, -ahead)) for ahead in range(8)}
    assert partitions(conn) == {stays, *made}
    for begins, ends in conn.execute("SELECT begins, ends FROM turnstile.history_partition WHERE ends IS NOT NULL"):
        assert (begins.astimezone(datetime.UTC).time(), ends - begins) == (datetime.time(0), datetime.timedelta(days=1))


def test_single_jobs_go_the_same_whatever_the_caller_has_set(conn):
    conn.execute("INSERT INTO turnstile.queue (name, keep_completed) VALUES ('audit', '-1')")
    make_day(conn, 10)
    finish(conn, 10, 5)
    stays = [*finish(conn, 10, queue="audit"), *finish(conn, 3), *finish(conn, 30, queue="audit")]
    for setting in HOSTILE:
        conn.execute(setting)
    _setting(conn, "SQL, DMY", "Asia/Kolkata")
    assert maintain(conn)["thin history"] == 5
    conn.execute("RESET ALL")
    assert kept(conn) == set(stays)


def test_the_policy_of_a_day_does_not_depend_on_settings(conn):
    """A pass that another caller began would start anew each time."""
    conn.execute("INSERT INTO turnstile.queue (name, keep_completed) VALUES ('q', '1 year 2 mons -3 days 04:05:06')")
    query = "SELECT (turnstile_internal.history_policy(NULL)).policy, (turnstile_internal.history_policy('2026-01-01 00:00+00')).policy"
    before = conn.execute(query).fetchone()
    for style in ("sql_standard", "postgres_verbose", "iso_8601"):
        conn.execute(f"SET intervalstyle = '{style}'; SET datestyle = 'German'; SET timezone = 'Asia/Kolkata'")
        conn.execute("SET standard_conforming_strings = off")
        assert conn.execute(query).fetchone() == before


@contextlib.contextmanager
def _tablespace():
    name = f"turnstile_space_{secrets.token_hex(6)}"
    with server() as admin:
        admin.execute("SET allow_in_place_tablespaces = on")
        admin.execute(f"CREATE TABLESPACE {name} LOCATION ''")
        try:
            yield name
        finally:
            admin.execute(f"DROP TABLESPACE {name}")


_PLACES = """
SELECT DISTINCT spcname FROM pg_class LEFT JOIN pg_tablespace ON pg_tablespace.oid = reltablespace
WHERE pg_class.oid IN (SELECT partition FROM turnstile.history_partition WHERE ends IS NOT NULL)
    OR pg_class.oid IN (
        SELECT indexrelid FROM pg_index JOIN turnstile.history_partition ON partition = indrelid WHERE ends IS NOT NULL
    )
"""


def test_partitions_do_not_go_where_the_caller_puts_tables():
    with _tablespace() as space, fresh_database() as db:
        conn = db.connect()
        drop_days(conn)
        conn.execute("CREATE ACCESS METHOD own TYPE TABLE HANDLER heap_tableam_handler")
        conn.execute(f"SET default_tablespace = {space}; SET default_table_access_method = own")
        assert maintain(conn)["make partitions"] == 8
        assert conn.execute(_PLACES).fetchall() == [(None,)]
        methods = "SELECT DISTINCT amname FROM pg_class JOIN pg_am ON pg_am.oid = relam"
        methods += " WHERE pg_class.oid IN (SELECT partition FROM turnstile.history_partition)"
        assert conn.execute(methods).fetchall() == [("heap",)]


def test_partitions_go_where_the_history_is_put():
    with _tablespace() as space, fresh_database() as db:
        conn = db.connect()
        drop_days(conn)
        conn.execute(f"ALTER TABLE turnstile.job_history SET TABLESPACE {space}")
        assert maintain(conn)["make partitions"] == 8
        assert set(conn.execute(_PLACES).fetchall()) == {(space,), (None,)}, "the tables there, their indexes not"
        enqueue(conn)
        assert complete(conn, claim_next(conn)) is True


@pytest.mark.parametrize("whom", ["a role", "PUBLIC"])
def test_what_the_owner_grants_by_default_is_not_for_partitions(db, conn, role, whom):
    grantee = role if whom == "a role" else "PUBLIC"
    drop_days(conn)
    conn.execute("DROP TABLE turnstile.job_history_default")
    conn.execute(f"ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO {grantee} WITH GRANT OPTION" if whom == "a role"
                 else "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC")  # fmt: skip
    conn.execute(f"GRANT USAGE ON SCHEMA turnstile TO {role}")
    conn.execute("SELECT turnstile.make_history_partitions()")
    assert len(partitions(conn)) == 8
    stranger = db.connect()
    stranger.execute(f"SET ROLE {role}")
    for partition in [*partitions(conn), "turnstile.job_history_default"]:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            stranger.execute(f"SELECT FROM {partition}")
