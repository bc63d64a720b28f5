"""The catalog: what the extension installs is documented, closed to PUBLIC, and ready for the days to come."""

import re

import pytest

from support.calls import call
from support.errors import TOO_LONG, refused

CONTRACT = {
    "enqueue": "(kind text, payload jsonb, queue text, tenant text, account text, session text, concurrency_key text,"
    " priority integer, run_at timestamp with time zone, max_attempts integer, unique_key text, unique_mode text,"
    " unique_for interval, metadata jsonb, unique_by text[], parent bigint, after bigint[], after_any_end boolean,"
    " after_hold boolean, unique_states text[]) -> bigint",
    "enqueue_if_new": "(kind text, payload jsonb, queue text, tenant text, account text, session text, concurrency_key text,"
    " priority integer, run_at timestamp with time zone, max_attempts integer, unique_key text, unique_mode text,"
    " unique_for interval, metadata jsonb, unique_by text[], parent bigint, after bigint[], after_any_end boolean,"
    " after_hold boolean, unique_states text[]) -> TABLE(id bigint, created boolean)",
    "enqueue_batch": "(kind text, payload jsonb, children jsonb, slots integer, rate integer, rate_per interval, burst integer,"
    " max_failed integer, on_end text, queue text, tenant text, account text, session text, concurrency_key text,"
    " priority integer, run_at timestamp with time zone, max_attempts integer, unique_key text, unique_mode text,"
    " unique_for interval, metadata jsonb, unique_by text[], parent bigint, after bigint[], after_any_end boolean,"
    " after_hold boolean, unique_states text[]) -> bigint",
    "enqueue_many": "(jobs jsonb) -> TABLE(ord integer, id bigint, created boolean)",
    "claim_next": "(queue text, worker text, lease interval, bind_to_connection boolean, wait interval)"
    " -> SETOF turnstile.claimed_job",
    "claim": "(queues text[], max_jobs integer, worker text, lease interval, bind_to_connection boolean,"
    " wait interval) -> SETOF turnstile.claimed_job",
    "complete": "(job_id bigint, attempt integer, result jsonb) -> boolean",
    "claim_own": "(queues text[], max_jobs integer, worker text) -> SETOF turnstile.claimed_job",
    "complete_many": "(job_ids bigint[], attempts integer[], results jsonb[]) -> integer",
    "fail_many": "(job_ids bigint[], attempts integer[], errors text[], retry_in interval[], discard boolean[],"
    " error_classes text[]) -> integer",
    "heartbeat_many": "(job_ids bigint[], attempts integer[], lease interval, unbind boolean) ->"
    " TABLE(ord integer, job_id bigint, status text)",
    "complete_and_claim_next": "(job_id bigint, attempt integer, result jsonb, queue text, worker text, lease interval,"
    " bind_to_connection boolean, wait interval) -> SETOF turnstile.claimed_job",
    "complete_and_claim": "(job_ids bigint[], attempts integer[], queues text[], max_jobs integer, worker text, lease interval,"
    " bind_to_connection boolean, wait interval, results jsonb[]) -> SETOF turnstile.claimed_job",
    "fail": "(job_id bigint, attempt integer, error text, retry_in interval, discard boolean, error_class text) -> text",
    "listen_channel": "(queue text) -> text",
    "prune_unique_keys": "(max_keys integer) -> integer",
    "release": "(job_id bigint, attempt integer) -> boolean",
    "route_of": "(kind text) -> text",
    "reroute": "(pattern text, max_jobs integer, from_queue text) -> integer",
    "set_route": "(pattern text, queue text, priority_offset integer, override boolean, concurrency_key text, clear text[])"
    " -> turnstile.route",
    "drop_route": "(pattern text) -> boolean",
    "endpoint_of": "(kind text) -> TABLE(pattern text, url text, method text, headers jsonb, timeout interval, mode text,"
    " permanent_status integer[], concurrency_key text, secret text, allow_private boolean, keep_response boolean,"
    " cloudevents boolean, trial_after integer, paused boolean, on_trial boolean)",
    "report_endpoint": "(job_id bigint, attempt integer, answer text, pause interval) -> void",
    "set_endpoint": "(pattern text, url text, method text, headers jsonb, timeout interval, mode text, permanent_status integer[],"
    " key_by_host boolean, secret text, allow_private boolean, keep_response boolean, cloudevents boolean, trial_after integer,"
    " paused boolean, clear text[]) -> turnstile.endpoint",
    "drop_endpoint": "(pattern text) -> boolean",
    "set_queue": "(name text, max_running integer, paused boolean, paused_until timestamp with time zone, rate integer,"
    " rate_per interval, burst integer, policy text, aging interval, lease interval, max_attempts integer,"
    " retry_base interval, retry_cap interval, session_on_retry text, notify boolean, keep_completed interval,"
    " keep_discarded interval, max_waiting integer, clear text[], durable_claims boolean) -> turnstile.queue",
    "set_tenant": "(name text, slots integer, weight integer, paused boolean, paused_until timestamp with time zone,"
    " rate integer, rate_per interval, burst integer, max_waiting integer, clear text[]) -> turnstile.tenant",
    "set_account": "(tenant text, name text, slots integer, paused boolean, paused_until timestamp with time zone,"
    " rate integer, rate_per interval, burst integer, clear text[]) -> turnstile.account",
    "set_concurrency": "(key text, slots integer, rate integer, rate_per interval, burst integer, clear text[])"
    " -> turnstile.concurrency",
    "pause_queue": "(name text, until timestamp with time zone) -> void",
    "resume_queue": "(name text) -> void",
    "pause_tenant": "(name text, until timestamp with time zone) -> void",
    "resume_tenant": "(name text) -> void",
    "pause_account": "(tenant text, name text, until timestamp with time zone) -> void",
    "resume_account": "(tenant text, name text) -> void",
    "pause_session": "(queue text, tenant text, session text, until timestamp with time zone) -> void",
    "resume_session": "(queue text, tenant text, session text) -> void",
    "pause_concurrency": "(key text, until timestamp with time zone) -> void",
    "resume_concurrency": "(key text) -> void",
    "make_history_partitions": "(days_ahead integer) -> integer",
    "maintain": "() -> TABLE(task text, affected bigint)",
    "rescue": "(max_jobs integer) -> integer",
    "promote": "(max_jobs integer) -> integer",
    "enable_cron": "(schedule text) -> bigint",
    "disable_cron": "() -> integer",
    "schedule": "(name text, cron text, kind text, payload jsonb, queue text, tenant text, account text, session text,"
    " concurrency_key text, priority integer, max_attempts integer, unique_key text, unique_mode text,"
    " unique_for interval, metadata jsonb, unique_by text[], time_zone text, catch_up text,"
    " unique_states text[]) -> timestamp with time zone",
    "unschedule": "(name text) -> boolean",
    "pause_recurring": "(name text, until timestamp with time zone) -> boolean",
    "resume_recurring": "(name text) -> boolean",
    "next_firing": "(cron text, time_zone text, after timestamp with time zone) -> timestamp with time zone",
    "fire_recurring": "(max_jobs integer) -> integer",
    "heartbeat": "(job_id bigint, attempt integer, lease interval, unbind boolean) -> boolean",
    "progress": "(job_id bigint, attempt integer, done numeric, total numeric, message text) -> boolean",
    "snooze": "(job_id bigint, attempt integer, delay interval) -> boolean",
    "cancel": "(job_id bigint) -> text",
    "await_children": "(job_id bigint, attempt integer) -> boolean",
    "set_batch": "(id bigint, slots integer, rate integer, rate_per interval, burst integer, paused boolean, priority integer,"
    " max_failed integer, clear text[]) -> turnstile.batch",
    "batch_results": "(id bigint) -> TABLE(id bigint, kind text, payload jsonb, state text, result jsonb, error text)",
    "why_waiting": "(job_id bigint) -> TABLE(ord integer, reason text, gate text, name text, running integer, slots integer,"
    " opens_at timestamp with time zone, holder bigint, detail text)",
    "why_waiting_many": "(job_ids bigint[]) -> TABLE(job_id bigint, ord integer, reason text, gate text, name text, running integer,"
    " slots integer, opens_at timestamp with time zone, holder bigint, detail text)",
    "why_waiting_summary": "(queue text, tenant text) -> TABLE(reason text, gate text, lanes bigint, is_estimate boolean)",
    "wait_estimate": "(job_id bigint) -> TABLE(ahead bigint, is_capped boolean, starts_per_minute numeric, bottleneck text,"
    " starts_at timestamp with time zone)",
    "running_jobs": "(queue text, max_jobs integer) -> TABLE(id bigint, attempt integer)",
    "recent_failures": "(since bigint) -> TABLE(id bigint, queue text, kind text, tenant text, attempt integer, worker text,"
    " failed_at timestamp with time zone, retry_at timestamp with time zone, error text, cursor bigint)",
    "recent": "(since text, max_rows integer) -> TABLE(id bigint, queue text, kind text, tenant text, state text, attempt integer,"
    " worker text, created_at timestamp with time zone, claimed_at timestamp with time zone,"
    " finished_at timestamp with time zone, error text, cursor text)",
    "stat_reset": "() -> void",
    "histogram_bounds": "() -> bigint[]",
    "discard": "(job_id bigint, attempt integer, error text) -> text",
    "retry": "(job_id bigint) -> text",
    "reprioritize": "(job_id bigint, priority integer) -> boolean",
    "cancel_many": "(queue text, kind text, tenant text, account text, session text, state text, older_than interval,"
    " max_jobs integer, parent bigint, concurrency_key text,"
    " metadata jsonb, error text, ended_before timestamp with time zone, first_id bigint, last_id bigint) -> integer",
    "discard_many": "(queue text, kind text, tenant text, account text, session text, state text, older_than interval,"
    " max_jobs integer, parent bigint, concurrency_key text,"
    " metadata jsonb, error text, ended_before timestamp with time zone, first_id bigint, last_id bigint) -> integer",
    "retry_many": "(queue text, kind text, tenant text, account text, session text, state text, older_than interval,"
    " max_jobs integer, parent bigint, concurrency_key text,"
    " metadata jsonb, error text, ended_before timestamp with time zone, first_id bigint, last_id bigint) -> integer",
    "delete_many": "(queue text, kind text, tenant text, account text, session text, state text, older_than interval,"
    " max_jobs integer, parent bigint, concurrency_key text,"
    " metadata jsonb, error text, ended_before timestamp with time zone, first_id bigint, last_id bigint) -> integer",
}

COLUMNS = {
    "job": "id queue kind payload priority state run_at tenant account session concurrency_key attempt max_attempts"
    " worker claimed_at lease_expires_at cancel_requested_at progress errors metadata created_at lane lane_group position"
    " unique_key unique_mode unique_until parent children lease unique_states first_started_at waited",
    "batch": "id slots rate rate_per burst paused paused_until priority max_failed on_end opened_at stops",
    "batches": "id kind queue tenant session state total waiting running completed discarded cancelled slots started_at"
    " finished_per_minute estimated_end paused paused_until",
    "dependencies": "predecessor job any_end holds",
    "queue": "name paused max_running max_waiting policy aging lease max_attempts notify keep_completed keep_discarded",
    "tenant": "name slots max_waiting weight paused",
    "account": "tenant name slots paused",
    "concurrency": "key slots",
    "queues": "name max_running max_waiting paused aging waiting scheduled retryable blocked running free oldest_waiting claimed_per_minute"
    " finished_per_minute",
    "tenants": "name slots max_waiting weight paused waiting scheduled retryable blocked running free oldest_waiting claimed_per_minute"
    " finished_per_minute",
    "accounts": "tenant name slots paused waiting scheduled retryable blocked running free oldest_waiting claimed_per_minute"
    " finished_per_minute",
    "concurrency_keys": "key slots waiting scheduled retryable blocked running free oldest_waiting claimed_per_minute"
    " finished_per_minute",
    "workers": "worker queue first_seen last_seen claims jobs",
    "route": "pattern queue priority_offset override concurrency_key",
    "endpoint": "pattern url method headers timeout mode permanent_status key_by_host concurrency_key secret allow_private"
    " keep_response cloudevents trial_after paused",
    "slowed_key": "key paused_until one_at_a_time",
    "unique_key": "tenant key generation job_id mode expires_at states",
}
COLUMNS["job_history"] = COLUMNS["jobs"] = COLUMNS["job"] + " finished_at result"
COLUMNS["jobs"] += " queued_at started_at waiting running"


def _one_column(conn, query: str, *parameters) -> list:
    return [row[0] for row in conn.execute(query, parameters or None).fetchall()]


@pytest.mark.parametrize("function", CONTRACT)
def test_a_function_has_its_documented_signature(module_conn, function):
    signatures = _one_column(
        module_conn,
        "SELECT format('(%%s) -> %%s', regexp_replace(pg_get_function_arguments(oid), ' DEFAULT [^,]*', '', 'g'),"
        " pg_get_function_result(oid)) FROM pg_proc WHERE proname = %s AND pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)",
        function,
    )
    assert signatures == [CONTRACT[function]]


@pytest.mark.parametrize("table", COLUMNS)
def test_a_table_has_its_documented_columns(module_conn, table):
    columns = _one_column(
        module_conn,
        "SELECT attname::text FROM pg_attribute WHERE attrelid = ('turnstile.' || %s)::regclass"
        " AND attnum > 0 AND NOT attisdropped",
        table,
    )
    assert set(COLUMNS[table].split()) <= set(columns)


def test_the_procedure_that_waits_takes_its_owners_rights_itself(module_conn):
    """One that is SECURITY DEFINER or has settings of its own could not end transactions."""
    kind, arguments, definer, settings = module_conn.execute(
        "SELECT prokind::text, pg_get_function_arguments(oid), prosecdef, proconfig FROM pg_proc"
        " WHERE proname = 'wait_for_job' AND pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)"
    ).fetchone()
    assert (kind, arguments) == ("p", "IN queues text[], IN timeout interval")
    assert (definer, settings) == (False, None)


def test_a_claimed_job_has_its_documented_fields_in_order(module_conn):
    fields = _one_column(
        module_conn,
        "SELECT attname::text FROM pg_attribute JOIN pg_type ON attrelid = typrelid"
        " WHERE pg_type.oid = 'turnstile.claimed_job'::regtype AND attnum > 0 ORDER BY attnum",
    )
    assert fields == (
        "id attempt queue kind payload priority tenant account session max_attempts lease_expires_at created_at metadata"
        " children attempts_left first_started_at"
    ).split()


def test_functions_in_c_know_their_caller(module_conn):
    """They check what he may do, and switch to their owner's rights by themselves: src/pg/rights.rs."""
    definers = _one_column(
        module_conn,
        "SELECT proname::text FROM pg_proc JOIN pg_language AS l ON l.oid = prolang WHERE lanname = 'c'"
        " AND pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) AND (prosecdef OR proconfig IS NOT NULL)",
    )
    assert definers == []


def test_other_functions_have_a_pinned_search_path(module_conn):
    loose = _one_column(
        module_conn,
        "SELECT proname::text FROM pg_proc JOIN pg_language AS l ON l.oid = prolang WHERE lanname <> 'c'"
        " AND pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)",
    )
    assert loose == []


def test_no_function_is_strict(module_conn):
    """A strict function would answer NULL with NULL instead of 22004."""
    strict = _one_column(
        module_conn,
        "SELECT proname::text FROM pg_proc WHERE proisstrict AND pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)"
        " AND proname = ANY(%s)",
        list(CONTRACT),
    )
    assert strict == []


def test_every_function_table_and_view_has_a_comment(module_conn):
    bare = _one_column(
        module_conn,
        "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)"
        " AND obj_description(oid, 'pg_proc') IS NULL"
        " UNION ALL SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'turnstile'::regnamespace"
        " AND relkind IN ('r', 'p', 'v', 'm') AND NOT relispartition AND obj_description(oid, 'pg_class') IS NULL",
    )
    assert bare == []


def test_nothing_is_granted_to_public(module_conn):
    """Grantee 0 is PUBLIC; no acl at all means the built-in one, which lets PUBLIC execute functions."""
    open_to_all = _one_column(
        module_conn,
        "SELECT name FROM (SELECT oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc"
        "                   WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)"
        " UNION ALL SELECT oid::regclass::text, coalesce(relacl, acldefault('r', relowner)) FROM pg_class"
        "           WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')"
        " UNION ALL SELECT nspname, coalesce(nspacl, acldefault('n', nspowner)) FROM pg_namespace"
        "           WHERE nspname IN ('turnstile', 'turnstile_internal')) object(name, acl), aclexplode(acl) WHERE grantee = 0",
    )
    assert open_to_all == []


@pytest.mark.parametrize("days", range(3))
def test_history_has_a_partition_for_today_and_the_next_days(module_conn, days):
    bounds = _one_column(
        module_conn,
        "SELECT pg_get_expr(relpartbound, oid) FROM pg_class JOIN pg_inherits ON oid = inhrelid"
        " WHERE inhparent = 'turnstile.job_history'::regclass",
    )
    covered = module_conn.execute(
        "SELECT count(*) FROM unnest(%s::text[]) bound,"
        " regexp_match(bound, $$FROM \\('([^']*)'\\) TO \\('([^']*)'\\)$$) ends"
        " WHERE now() + %s * interval '1 day' >= ends[1]::timestamptz"
        "   AND now() + %s * interval '1 day' < ends[2]::timestamptz",
        [bounds, days, days],
    ).fetchone()[0]
    assert covered == 1, bounds


def test_a_partition_holds_one_day(module_conn):
    wide = _one_column(
        module_conn,
        "SELECT bound FROM (SELECT pg_get_expr(relpartbound, oid) FROM pg_class JOIN pg_inherits ON oid = inhrelid"
        "                    WHERE inhparent = 'turnstile.job_history'::regclass) partition(bound),"
        " regexp_match(bound, $$FROM \\('([^']*)'\\) TO \\('([^']*)'\\)$$) ends"
        " WHERE ends[2]::timestamptz - ends[1]::timestamptz > '1 day'",
    )
    assert wide == []


# How long these are has other reasons.
NOT_NAMES = {"url", "secret"}


def test_tables_take_names_as_long_as_calls_do(module_conn):
    with refused(TOO_LONG) as caught, module_conn.transaction():
        call(module_conn, "enqueue", kind="k" * 10_000)
    (longest,) = re.findall(r"longer than (\d+) bytes", caught.value.diag.message_primary)
    checks = _one_column(
        module_conn,
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c' AND connamespace = 'turnstile'::regnamespace",
    )
    bounds = [found for check in checks for found in re.findall(r"octet_length\((\w+)\) <= (\d+)", check)]
    names = [(column, bound) for column, bound in bounds if column not in NOT_NAMES]
    assert len(names) >= 15
    assert {bound for _, bound in names} == {longest}, names
