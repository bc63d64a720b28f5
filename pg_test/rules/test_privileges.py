"""Privileges: nothing for PUBLIC; who may call a function and has a permission needs no right on any table, but of those that
he sets. What a permission allows is in pg_test/rights."""

import psycopg
import pytest
from psycopg import sql

from support import rows
from support.calls import call, claim_next, complete, enqueue
from support.errors import NO_PRIVILEGE

VERBS = {
    "enqueue": {"kind": "work"},
    "enqueue_many": {"jobs": []},
    "claim_next": {},
    "claim": {"queues": ["default"]},
    "complete": {"job_id": 1, "attempt": 1},
    "claim_own": {},
    "enqueue_if_new": {"kind": "work"},
    "complete_many": {"job_ids": [], "attempts": []},
    "fail_many": {"job_ids": [], "attempts": []},
    "heartbeat_many": {"job_ids": [], "attempts": []},
    "complete_and_claim_next": {"job_id": 1, "attempt": 1},
    "complete_and_claim": {"job_ids": [], "attempts": [], "queues": ["default"]},
    "fail": {"job_id": 1, "attempt": 1},
    "release": {"job_id": 1, "attempt": 1},
    "listen_channel": {"queue": "default"},
    "route_of": {"kind": "work"},
    "reroute": {"pattern": "work"},
    "set_route": {"pattern": "work"},
    "drop_route": {"pattern": "work"},
    "endpoint_of": {"kind": "work"},
    "report_endpoint": {"job_id": 1, "attempt": 1, "answer": "works"},
    "set_endpoint": {"pattern": "sent", "url": "http://a.example"},
    "drop_endpoint": {"pattern": "sent"},
    "set_retry_curve": {"kind": "k", "base": "1 minute"},
    "drop_retry_curve": {"kind": "k", "error_class": "*"},
    "set_queue": {"name": "q"},
    "set_tenant": {"name": "t"},
    "set_account": {"tenant": "t", "name": "a"},
    "set_concurrency": {"key": "c"},
    "pause_queue": {"name": "paused"},
    "resume_queue": {"name": "paused"},
    "pause_tenant": {"name": "paused"},
    "resume_tenant": {"name": "paused"},
    "pause_account": {"tenant": "paused", "name": "a"},
    "resume_account": {"tenant": "paused", "name": "a"},
    "pause_session": {"queue": "paused", "tenant": None, "session": "s"},
    "resume_session": {"queue": "paused", "tenant": None, "session": "s"},
    "pause_concurrency": {"key": "paused"},
    "resume_concurrency": {"key": "paused"},
    "make_history_partitions": {},
    "maintain": {},
    "rescue": {},
    "promote": {},
    "unschedule": {"name": "nightly"},
    "prune_unique_keys": {},
    "heartbeat": {"job_id": 1, "attempt": 1},
    "progress": {"job_id": 1, "attempt": 1, "done": 1},
    "snooze": {"job_id": 1, "attempt": 1, "delay": "0"},
    "cancel": {"job_id": 1},
    "why_waiting": {"job_id": 2},
    "why_waiting_many": {"job_ids": [2]},
    "why_waiting_summary": {},
    "wait_estimate": {"job_id": 2},
    "recent": {},
    "recent_failures": {},
    "running_jobs": {},
    "stat_reset": {},
    "histogram_bounds": {},
    "discard": {"job_id": 1, "attempt": 1},
    "retry": {"job_id": 2},
    "reprioritize": {"job_id": 1, "priority": 1},
    "cancel_many": {"queue": "none"},
    "discard_many": {"queue": "none"},
    "retry_many": {"queue": "none"},
    "delete_many": {"queue": "none"},
}

# Every routine a user can call, with a NULL of the right type in each place: the privilege comes before the call.
CALLABLE = """
    SELECT format('%s %I.%I(%s)', CASE prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT' END, nspname, proname, nulls)
      FROM pg_proc
      JOIN pg_namespace n ON n.oid = pronamespace
      JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = pg_proc.oid AND d.deptype = 'e'
      JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND extname = 'turnstile'
     CROSS JOIN LATERAL (SELECT string_agg(
                                  CASE WHEN provariadic <> 0 AND place = pronargs THEN 'VARIADIC ' ELSE '' END
                                  || format('NULL::%s', replace(format_type(t, NULL), 'anyelement', 'integer')), ', ' ORDER BY place) AS nulls
                           FROM unnest(proargtypes) WITH ORDINALITY argument(t, place)) arguments
     WHERE prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype) AND prokind IN ('f', 'p')
       AND 'internal'::regtype <> ALL (proargtypes) AND prorettype <> 'internal'::regtype
"""


@pytest.fixture
def as_role(role, db):
    """A connection with the rights of that role."""
    connection = db.connect()
    connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    return connection


def _grant(conn, role: str, what: str) -> None:
    conn.execute(sql.SQL("GRANT " + what + " TO {}").format(sql.Identifier(role)))


def _permit(conn, role: str, verb: str = "*") -> None:
    conn.execute("INSERT INTO turnstile.permission (role, verb) VALUES (%s::text::regrole, %s)", [role, verb])


# Functions that run with their caller's rights, on tables that operators may write to anyway.
SETTERS = [name for name in VERBS if name.startswith(("set_", "pause_", "resume_")) or name in ("drop_route", "drop_endpoint", "drop_retry_curve")]
HELPERS = ["check_permission", "check_name", "check_clear", "changed_setting", "refuse_setting", "gate_key", "session_gate"]
SETTINGS = ["queue", "tenant", "account", "concurrency", "paused_session", "route", "endpoint", "slowed_key", "retry_curve"]


def _grant_settings(conn, role: str) -> None:
    _grant(conn, role, "USAGE ON SCHEMA turnstile_internal")
    for helper in [*HELPERS, "set_queue", "set_tenant", "set_account"]:
        _grant(conn, role, f"EXECUTE ON FUNCTION {_function(conn, helper)}")
    for table in SETTINGS:
        _grant(conn, role, f"SELECT, INSERT, UPDATE, DELETE ON turnstile.{table}")


def _function(conn, name: str) -> str:
    return conn.execute("SELECT oid::regprocedure::text FROM pg_proc WHERE proname = %s"
                        " AND pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)", [name]).fetchone()[0]  # fmt: skip


@pytest.mark.parametrize("schema_usage", [False, True], ids=["", "with USAGE on the schema"])
def test_a_role_without_rights_can_call_nothing(conn, role, as_role, schema_usage):
    if schema_usage:
        _grant(conn, role, "USAGE ON SCHEMA turnstile, turnstile_internal")
    calls = [row[0] for row in conn.execute(CALLABLE).fetchall()]
    assert len(calls) >= len(VERBS)
    for text in calls:
        with pytest.raises(psycopg.Error) as caught:
            as_role.execute(text)
        assert caught.value.sqlstate == NO_PRIVILEGE, f"{text}: {caught.value}"


@pytest.mark.parametrize("statement", ["SELECT 1 FROM turnstile.{}", "DELETE FROM turnstile.{}"])
def test_a_role_without_rights_can_reach_no_table(conn, role, as_role, statement):
    _grant(conn, role, "USAGE ON SCHEMA turnstile")
    for table in ("job", "job_history", "jobs", "queue", "tenant", "account", "concurrency", "route",
                  "history_partition", "history_pass", "recurring", "recurring_jobs", "unique_key",
                  "queues", "tenants", "accounts", "concurrency_keys", "workers", "paused_session",
                  "endpoint", "slowed_key",
                  "maintain_task"):  # fmt: skip
        with pytest.raises(psycopg.Error) as caught:
            as_role.execute(statement.format(table))
        assert caught.value.sqlstate in (NO_PRIVILEGE, "55000"), "55000: the view cannot be written to at all"


@pytest.mark.parametrize("granted", VERBS)
def test_execute_on_one_function_allows_that_one_alone(conn, role, as_role, granted):
    _grant(conn, role, "USAGE ON SCHEMA turnstile")
    _grant(conn, role, f"EXECUTE ON FUNCTION {_function(conn, granted)}")
    _permit(conn, role)
    also = []
    if granted in SETTERS:
        _grant_settings(conn, role)
        also = ["set_queue", "set_tenant", "set_account"]
    enqueue(conn)
    claim_next(conn)
    enqueue(conn)
    for function, arguments in VERBS.items():
        if function == granted or function in also:
            call(as_role, function, **arguments)
            continue
        with pytest.raises(psycopg.Error) as caught:
            call(as_role, function, **arguments)
        assert caught.value.sqlstate == NO_PRIVILEGE, function


def test_a_producer_needs_no_right_on_any_table(conn, role, as_role):
    _grant(conn, role, "USAGE ON SCHEMA turnstile")
    _grant(conn, role, f"EXECUTE ON FUNCTION {_function(conn, 'enqueue')}")
    _permit(conn, role, "enqueue")
    job_id = enqueue(as_role, payload={"by": "producer"}, tenant="acme")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        as_role.execute("SELECT 1 FROM turnstile.job")
    run = claim_next(conn)
    assert (run.id, run.payload) == (job_id, {"by": "producer"})
    assert complete(conn, run)


def test_a_worker_needs_no_right_on_any_table(conn, role, as_role):
    _grant(conn, role, "USAGE ON SCHEMA turnstile")
    for name in ("claim_next", "complete", "fail", "release"):
        _grant(conn, role, f"EXECUTE ON FUNCTION {_function(conn, name)}")
    _permit(conn, role, "work")
    job_id = enqueue(conn)
    run = claim_next(as_role)
    assert complete(as_role, run)
    assert rows.state(conn, job_id) == "completed"


def test_a_role_that_may_only_insert_enqueues_by_insert(conn, role, as_role):
    """The triggers need no right of the inserter's."""
    _grant(conn, role, "USAGE ON SCHEMA turnstile")
    _grant(conn, role, "INSERT ON turnstile.job")
    _grant(conn, role, "USAGE ON ALL SEQUENCES IN SCHEMA turnstile")
    _permit(conn, role, "enqueue")
    as_role.execute("INSERT INTO turnstile.job (queue, kind) VALUES ('default', 'inserted')")
    assert claim_next(conn).kind == "inserted"


def test_a_dropped_role_leaves_its_jobs_and_the_queue_going(conn, role, as_role):
    _grant(conn, role, "USAGE ON SCHEMA turnstile")
    _grant(conn, role, f"EXECUTE ON FUNCTION {_function(conn, 'enqueue')}")
    _permit(conn, role)
    job_id = enqueue(as_role)
    as_role.close()
    conn.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(role)))
    assert claim_next(conn).id == job_id
    assert enqueue(conn)


def test_a_revoked_right_is_refused_from_then_on(conn, role, as_role):
    _grant(conn, role, "USAGE ON SCHEMA turnstile")
    function = _function(conn, "enqueue")
    _grant(conn, role, f"EXECUTE ON FUNCTION {function}")
    _permit(conn, role)
    enqueue(as_role)
    conn.execute(sql.SQL("REVOKE ALL ON FUNCTION " + function + " FROM {}").format(sql.Identifier(role)))
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        enqueue(as_role)
