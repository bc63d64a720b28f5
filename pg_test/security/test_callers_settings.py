"""The settings of who calls decide nothing: each verb does the same under all of them."""

import psycopg
import pytest

from support.database import fresh_database

SHADOWS = """
    CREATE SCHEMA shadow;
    CREATE FUNCTION shadow.no(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
    CREATE FUNCTION shadow.no(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
    CREATE FUNCTION shadow.no(interval, interval) RETURNS boolean LANGUAGE sql AS 'SELECT false';
    CREATE OPERATOR shadow.= (LEFTARG = text, RIGHTARG = text, FUNCTION = shadow.no);
    CREATE OPERATOR shadow.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = shadow.no);
    CREATE OPERATOR shadow.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = shadow.no);
    CREATE OPERATOR shadow.>= (LEFTARG = interval, RIGHTARG = interval, FUNCTION = shadow.no);
    CREATE FUNCTION shadow.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz '1999-01-01' $$;
    CREATE FUNCTION shadow.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz 'infinity' $$;
    CREATE FUNCTION shadow.octet_length(text) RETURNS int LANGUAGE sql AS 'SELECT 1000';
    CREATE FUNCTION shadow.coalesce(text, text) RETURNS text LANGUAGE sql AS $$ SELECT 'shadow' $$;
    CREATE FUNCTION shadow.format(text, text) RETURNS text LANGUAGE sql AS $$ SELECT 'shadow' $$;
    CREATE TABLE shadow.job (id int);
    CREATE DOMAIN shadow.regclass AS text;
    CREATE TYPE shadow.jsonb AS (no int);
    GRANT USAGE ON SCHEMA shadow TO PUBLIC;
    SET search_path = shadow, pg_catalog, pg_temp
"""
TEMPORARY = """
    CREATE TEMPORARY TABLE job (id int); CREATE TEMPORARY TABLE queue (name int); CREATE TEMPORARY TABLE pg_class (oid int);
    CREATE TEMPORARY TABLE job_history (id int); CREATE TEMPORARY TABLE claimed_job (id int);
    CREATE TEMPORARY SEQUENCE job_id_seq; CREATE DOMAIN pg_temp.text AS int; CREATE DOMAIN pg_temp.timestamptz AS int;
    SET search_path = pg_temp, turnstile, public
"""
NO_INDEX = "; ".join(f"SET enable_{path} = off" for path in (
    "indexscan", "indexonlyscan", "bitmapscan", "nestloop", "hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize",
    "partition_pruning", "tidscan", "gathermerge", "parallel_append", "incremental_sort"))  # fmt: skip
PARALLEL = "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;" \
    " SET min_parallel_index_scan_size = 0; SET max_parallel_workers_per_gather = 4;" \
    " SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')"  # fmt: skip
SETTINGS = {
    "DateStyle": "SET DateStyle = 'SQL, DMY'",
    "DateStyle German": "SET DateStyle = 'German'",
    "DateStyle Postgres": "SET DateStyle = 'Postgres, MDY'",
    "IntervalStyle sql": "SET IntervalStyle = sql_standard",
    "IntervalStyle ISO": "SET IntervalStyle = iso_8601",
    "IntervalStyle verbose": "SET IntervalStyle = postgres_verbose",
    "TimeZone": "SET TimeZone = 'Asia/Kathmandu'",
    "TimeZone, far": "SET TimeZone = '<+14>-14'",
    "strings": "SET standard_conforming_strings = off; SET escape_string_warning = off; SET backslash_quote = on",
    "output": "SET bytea_output = escape; SET extra_float_digits = -15; SET quote_all_identifiers = on; SET xmloption = document",
    "nulls": "SET array_nulls = off; SET transform_null_equals = on",
    "row_security": "SET row_security = off",
    "as pg_dump": "SET row_security = off; SET check_function_bodies = off",
    "table access method": "SET default_table_access_method = trap; SET default_toast_compression = pglz",
    "tablespace": "SET default_tablespace = pg_default; SET temp_tablespaces = pg_default",
    "locks": "SET lock_timeout = '1ms'; SET deadlock_timeout = '1ms'",
    "memory": "SET work_mem = '64kB'; SET maintenance_work_mem = '1MB'; SET temp_buffers = 100; SET logical_decoding_work_mem = '64kB'",
    "no way to find a row": NO_INDEX,
    "planner": "SET from_collapse_limit = 1; SET join_collapse_limit = 1; SET geqo_threshold = 2; SET constraint_exclusion = on",
    "parallel": PARALLEL,
    "plans, generic": "SET plan_cache_mode = force_generic_plan",
    "plans, custom": "SET plan_cache_mode = force_custom_plan",
    "JIT": "SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0",
    "repeatable read": "SET default_transaction_isolation = 'repeatable read'",
    "deferrable": "SET default_transaction_deferrable = on",
    "messages": "SET lc_messages = 'C'; SET lc_numeric = 'C'; SET lc_time = 'C'; SET lc_monetary = 'C'; SET client_min_messages = error",
    "encoding": "SET client_encoding = 'LATIN1'",
    "replica": "SET session_replication_role = replica",
    "commits": "SET synchronous_commit = off; SET commit_siblings = 0",
    "search_path, empty": "SET search_path = ''",
    "search_path, hostile": SHADOWS,
    "temporary objects": TEMPORARY,
}  # fmt: skip
# As a superuser; those that only such a one may set, or that make objects.
OWNERS = {"replica", "locks", "messages", "commits", "table access method", "search_path, hostile"}

RUN = "SELECT id, attempt FROM turnstile.claim_next('q')"
STORY = """
enqueue('work', '{"n": 1}', 'q', 'acme', 'free', 's', 'key', 1, '2001-02-03 04:05:06+00', 3, 'u', 'until_executed', '1 day', '{"é": 1}')
enqueue('work', '{"n": 1}', 'q', 'acme', unique_by => ARRAY['kind', 'payload', 'tenant'])
enqueue('work', '{"n": 1}', 'q', 'acme', unique_by => ARRAY['kind', 'payload', 'tenant'])
enqueue('later', queue => 'q', run_at => '2101-02-03 04:05:06+00')
enqueue_many('[{"kind": "many", "queue": "q", "run_at": "2001-02-03T04:05:06Z", "unique_key": "m", "unique_for": "PT1H"}, {"kind": "b"}]')
set_queue('q', max_running => 5, max_waiting => 50, rate => 1000, burst => 100, rate_per => '00:00:01', lease => '00:10:00', keep_completed => '3 days')
set_queue('q', aging => '1 day', clear => ARRAY['rate', 'burst'])
set_tenant('acme', slots => 4, max_waiting => 50, weight => 2, paused_until => '2001-01-01 00:00:00+00')
set_account('acme', 'free', slots => 3)
set_concurrency('key', slots => 3)
pause_queue('q', '2001-01-01 00:00:00+00')
pause_session('q', 'acme', 'other', '2101-01-01 00:00:00+00')
resume_session('q', 'acme', 'nobody')
set_route('b*', queue => 'routed', priority_offset => 2, override => true)
route_of('bold')
reroute('b', from_queue => 'default')
set_endpoint('b*', 'http://a.example/{payload.n}', headers => '{"a": "b"}', timeout => '00:01:00', permanent_status => ARRAY[404])
endpoint_of('bold')
pause_concurrency('slow', '2101-01-01 00:00:00+00')
pause_concurrency('over', '2001-01-01 00:00:00+00')
resume_concurrency('nobody')
heartbeat({run}, lease => '00:01:00')
report_endpoint({last}, 'works')
progress({last}, 1.5, 10, 'half')
snooze({last}, '01:00:00')
release({run})
fail({run}, 'no', retry_in => '02:00:00')
fail({run}, 'no', discard => true)
enqueue('last', queue => 'q')
complete({run}, '{"r": 1.25}')
enqueue('more', queue => 'q')
claim(ARRAY['q', '*'], 2)
complete_many(ARRAY[1::bigint], ARRAY[1])
reprioritize(4, 7)
cancel(4)
retry(4)
discard(4)
cancel_many(kind => 'nobody', older_than => '1 day')
retry_many(state => 'discarded', older_than => '00:00:00')
discard_many(queue => 'q', state => 'retryable')
complete_and_claim_next({any}, queue => 'routed')
rescue()
promote()
prune_unique_keys()
make_history_partitions(9)
maintain()
listen_channel('q')
unschedule('nobody')
drop_route('b*')
drop_endpoint('c*')
resume_queue('q')
resume_tenant('acme')
check()
rebuild()
check()
"""

LEFT = {
    "jobs": "SELECT id, state, queue, tenant, account, session, concurrency_key, unique_key, unique_mode, kind, payload, metadata,"
    " attempt, uncounted, max_attempts, priority, lane, lane_group, holds_session, worker, progress - 'at', unique_until IS NULL,"
    " CASE WHEN run_at BETWEEN '2001-03-01' AND '2100-01-01' THEN date_trunc('hour', run_at - now() + interval '2 minutes')::text"
    " ELSE (run_at AT TIME ZONE 'UTC')::text END,"
    " (SELECT jsonb_agg(e - 'at') FROM jsonb_array_elements(errors) e) FROM turnstile.jobs ORDER BY id, state",
    "queue": "SELECT to_jsonb(own) - 'rate_since' FROM turnstile.queue AS own ORDER BY name",
    "tenant": "SELECT to_jsonb(own) - 'rate_since' FROM turnstile.tenant AS own ORDER BY name",
    "account": "SELECT to_jsonb(own) - 'rate_since' FROM turnstile.account AS own ORDER BY name",
    "concurrency": "SELECT to_jsonb(own) - 'rate_since' FROM turnstile.concurrency AS own ORDER BY key",
    "paused_session": "TABLE turnstile.paused_session ORDER BY gate",
    "route": "TABLE turnstile.route ORDER BY pattern",
    "endpoint": "TABLE turnstile.endpoint ORDER BY pattern",
    "retry_curve": "TABLE turnstile.retry_curve ORDER BY kind, error_class",
    "slowed_key": "TABLE turnstile.slowed_key ORDER BY key",
    "unique_key": "SELECT tenant, key, job_id, mode, generation FROM turnstile.unique_key ORDER BY 1, 2, 3",
    "partitions": "SELECT partition::text, begins, ends FROM turnstile.history_partition ORDER BY begins",
    "files": "SELECT relname, relpersistence, reltablespace, amname FROM pg_class LEFT JOIN pg_am ON pg_am.oid = relam"
    " WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p') ORDER BY relname",
}  # fmt: skip


def _call(session, conn, line: str) -> str:
    """The SQLSTATE of a call, or how many rows it gave; what it says is for the tables to tell."""
    for place, query in {
        "{run}": RUN,
        "{last}": "SELECT id, attempt FROM turnstile.job WHERE state = 'running' ORDER BY claimed_at DESC LIMIT 1",
        "{any}": "SELECT id, attempt FROM turnstile.job WHERE state = 'running' ORDER BY id LIMIT 1",
    }.items():
        if place in line:
            found = (session if place == "{run}" else conn).execute(query).fetchone()
            line = line.replace(place, "{}, {}".format(*found) if found else "0, 1")
    try:
        return f"{session.execute(f'SELECT count(*) FROM turnstile.{line} AS said').fetchone()[0]} rows"
    except psycopg.Error as error:
        return error.sqlstate


def _story(settings: str, as_owner: bool) -> tuple[list, dict]:
    """What each call said and what all of them left, with these settings of the caller's."""
    with fresh_database() as db:
        conn = db.connect()
        conn.execute("CREATE ACCESS METHOD trap TYPE TABLE HANDLER heap_tableam_handler")
        session = db.connect()
        if not as_owner:
            conn.execute("CREATE ROLE turnstile_caller; GRANT USAGE ON SCHEMA turnstile TO turnstile_caller;"
                         " GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO turnstile_caller;"
                         f' GRANT TEMPORARY ON DATABASE "{db.name}" TO turnstile_caller;'
                         " SELECT turnstile.allow_producer('turnstile_caller'), turnstile.allow_worker('turnstile_caller'),"
                         " turnstile.allow_operator('turnstile_caller')")  # fmt: skip
        try:
            if not as_owner:
                session.execute("SET SESSION AUTHORIZATION turnstile_caller")
            session.execute(settings)
            said = [(line, _call(session, conn, line)) for line in STORY.strip().splitlines()]
            left = {name: conn.execute(query).fetchall() for name, query in LEFT.items()}
        finally:
            if not as_owner:
                session.execute("RESET SESSION AUTHORIZATION")
                conn.execute("DROP OWNED BY turnstile_caller; DROP ROLE turnstile_caller")
        return said, left


@pytest.fixture(scope="module")
def usual():
    return _story("SELECT 1", as_owner=False)


def test_the_story_is_told(usual):
    """It would compare nothing with nothing otherwise."""
    said, left = usual
    refused = [(line, state) for line, state in said if not state.endswith("rows")]
    assert {line.split("(")[0] for line, _ in refused} <= {"complete_and_claim_next", "discard"}, refused
    assert {row[1] for row in left["jobs"]} >= {"running", "completed", "scheduled", "available"}
    assert len(left["partitions"]) >= 10


@pytest.mark.parametrize("name", SETTINGS)
def test_each_verb_does_the_same_under_the_callers_settings(usual, name):
    said, left = _story(SETTINGS[name], as_owner=name in OWNERS)
    assert said == usual[0]
    for table, rows in left.items():
        assert rows == usual[1][table], table


@pytest.mark.parametrize("name", ["read-only", "serializable"])
def test_what_cannot_be_done_is_refused_and_leaves_nothing(usual, name):
    setting = {"read-only": "SET default_transaction_read_only = on", "serializable": "SET default_transaction_isolation = serializable"}[name]
    with fresh_database() as db:
        conn, session = db.connect(), db.connect()
        before = {table: conn.execute(query).fetchall() for table, query in LEFT.items()}
        session.execute(setting)
        lines = [line for line in STORY.strip().splitlines() if "{" not in line.replace("'{", "").replace('{"', "")]
        if name == "read-only":
            said = {_call(session, conn, line) for line in lines}
            assert said <= {"25006", "0 rows", "1 rows"}, said
            assert {table: conn.execute(query).fetchall() for table, query in LEFT.items()} == before
        else:
            said = {_call(session, conn, line) for line in lines}
            assert not [state for state in said if state.startswith("XX")], said
