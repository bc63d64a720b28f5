"""What PostgREST sends for POST /rpc/…: a JSON body whose keys become named arguments, in the statement of its version 12, with the role
of the request. PostgREST itself is not at hand here; a call that works so works there."""

import json

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Json

from support import rows
from support.calls import enqueue, enqueue_times
from support.errors import NO_PRIVILEGE

# As its schema cache reads them: names and types of the arguments that are not results, and whether a set comes back.
FUNCTIONS = """
SELECT proname::text, proargnames, proargtypes::regtype[]::text[], proretset,
    typ.typtype = 'c' OR coalesce(proargmodes::text[] && ARRAY['t', 'b', 'o'], false)
FROM pg_proc
JOIN pg_type AS typ ON typ.oid = prorettype
WHERE pronamespace = 'turnstile'::regnamespace AND prokind = 'f' AND proname = %s
"""
SETTINGS = """
SELECT set_config('search_path', %(path)s, true), set_config('role', %(role)s, true), set_config('request.jwt.claims', %(claims)s, true),
    set_config('request.method', 'POST', true), set_config('request.path', %(call)s, true), set_config('request.headers', '{}', true),
    set_config('request.cookies', '{}', true)
"""
PAYLOAD = """
(SELECT %s AS json_data) pgrst_payload,
LATERAL (SELECT {given} FROM json_to_record(pgrst_payload.json_data) AS _({columns}) LIMIT 1) pgrst_body,
"""
RESULT = """
SELECT null::bigint AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, {body} AS body,
    nullif(current_setting('response.headers', true), '') AS response_headers,
    nullif(current_setting('response.status', true), '') AS response_status
FROM (SELECT "pgrst_source".* FROM "pgrst_source") _postgrest_t
"""


def post(conn, role: str, function: str, body: dict):
    """The body of the response to POST /rpc/<function>."""
    # Its schema cache was read before, with the rights of its authenticator.
    [(name, names, types, is_set, is_composite)] = conn.execute(FUNCTIONS, [function]).fetchall()
    known = dict(zip(names, types, strict=False))
    assert set(body) <= set(known), "PGRST202: no function with these arguments"
    given = [sql.Identifier(argument) for argument in body]
    columns = [sql.SQL("{} {}").format(sql.Identifier(argument), sql.SQL(known[argument])) for argument in body]
    arguments = [sql.SQL("{0} := pgrst_body.{0}").format(argument) for argument in given]
    call = sql.SQL("{}.{}({})").format(sql.Identifier("turnstile"), sql.Identifier(name), _list(arguments))
    # Without arguments there is no payload.
    payload = sql.SQL(PAYLOAD if body else "").format(given=_list(given), columns=_list(columns))
    if is_set or is_composite:
        source = sql.SQL("SELECT pgrst_call.* FROM {} LATERAL (SELECT * FROM {}) pgrst_call")
        answer = "coalesce(json_agg(_postgrest_t), '[]')"
    else:
        source = sql.SQL("SELECT pgrst_call.pgrst_scalar FROM {} LATERAL (SELECT {} pgrst_scalar) pgrst_call")
        answer = "coalesce(json_agg(_postgrest_t.pgrst_scalar)->0, 'null')"
    statement = sql.SQL("WITH pgrst_source AS ({}) ").format(source.format(payload, call)) + sql.SQL(RESULT.format(body=answer))
    with conn.transaction():
        claims = json.dumps({"role": role, "sub": "somebody"})
        conn.execute(SETTINGS, {"path": '"turnstile", "public"', "role": role, "claims": claims, "call": f"/rpc/{function}"})
        return conn.execute(statement, [Json(body)] if body else None).fetchone()[2]


def _list(parts) -> sql.Composed:
    return sql.SQL(", ").join(parts)


@pytest.fixture
def web(db, conn, role):
    """A role as PostgREST switches to, and the connection that serves requests."""
    conn.execute(sql.SQL("SELECT turnstile.allow_producer({0}); SELECT turnstile.allow_worker({0})").format(sql.Literal(role)))
    return role, db.connect()


WHOLE = {
    "kind": "mail", "payload": {"to": "a@b.example", "n": [1, 2.5, None]}, "queue": "q", "tenant": "t", "account": "a", "session": "s",
    "concurrency_key": "c", "priority": 3, "run_at": "2001-02-03T04:05:06Z", "max_attempts": 7, "unique_key": "u",
    "unique_mode": "until_expired", "unique_for": "PT1H", "metadata": {"m": True}, "unique_by": None, "parent": None, "after": None,
    "after_any_end": False, "after_hold": False, "unique_states": None,
}  # fmt: skip


def test_enqueue_with_every_argument(conn, web):
    role, session = web
    names = conn.execute(FUNCTIONS, ["enqueue"]).fetchone()[1]
    assert set(WHOLE) == set(names), "the test names every argument"
    job = post(session, role, "enqueue", WHOLE)
    row = rows.live(conn, job)
    assert (row.kind, row.payload, row.queue, row.tenant, row.account, row.session) == ("mail", WHOLE["payload"], "q", "t", "a", "s")
    assert (row.concurrency_key, row.priority, row.max_attempts, row.metadata) == ("c", 3, 7, {"m": True})
    assert (row.unique_key, row.unique_mode, row.run_at.year) == ("u", "until_expired", 2001)
    assert post(session, role, "enqueue", WHOLE) == job, "the key is held"


@pytest.mark.parametrize("body", [{"kind": "mail"}, {"payload": {}, "kind": "mail"}, {"kind": "mail", "queue": None}])
def test_what_is_left_out_has_its_default(conn, web, body):
    role, session = web
    row = rows.live(conn, post(session, role, "enqueue", body))
    assert (row.kind, row.payload, row.queue, row.priority) == ("mail", {}, "default", 0)


def test_arrays_and_keys_by_columns(conn, web):
    role, session = web
    first, again = (post(session, role, "enqueue", {"kind": "mail", "unique_by": ["kind", "payload"]}) for _ in range(2))
    assert first == again
    late = post(session, role, "enqueue", {"kind": "mail", "after": [first]})
    assert rows.live(conn, late).state == "blocked"


def test_enqueue_many(conn, web):
    role, session = web
    answer = post(session, role, "enqueue_many", {"jobs": [{"kind": "a"}, {"kind": "b", "payload": {"x": 1}, "priority": -1}]})
    assert [set(each) >= {"id"} for each in answer] == [True, True]
    assert [rows.live(conn, each["id"]).kind for each in answer] == ["a", "b"]


def test_a_worker_claims_and_ends(conn, web):
    role, session = web
    jobs = enqueue_times(conn, 2, payload={"x": 1})
    [run] = post(session, role, "claim_next", {"queue": "default", "worker": "web", "lease": "1 hour"})
    assert (run["id"], run["attempt"], run["payload"]) == (jobs[0], 1, {"x": 1})
    assert post(session, role, "heartbeat", {"job_id": run["id"], "attempt": 1, "lease": "2 hours", "unbind": True}) is True
    assert post(session, role, "progress", {"job_id": run["id"], "attempt": 1, "done": 1, "total": 2, "message": "half"}) is True
    assert post(session, role, "complete", {"job_id": run["id"], "attempt": run["attempt"], "result": {"ok": True}}) is True
    assert rows.finished(conn, run["id"]).result == {"ok": True}
    [run] = post(session, role, "claim", {"queues": ["default", "other"], "max_jobs": 5})
    failed = post(session, role, "fail", {"job_id": run["id"], "attempt": 1, "error": "no", "retry_in": "1 hour", "discard": False})
    assert failed == "retryable"
    assert post(session, role, "claim_next", {}) == []


CALLS = {
    "enqueue": {"kind": "mail"},
    "enqueue_many": {"jobs": [{"kind": "mail"}]},
    "claim_next": {"queue": "default"},
    "claim": {"queues": ["default"]},
    "complete": {"job_id": 1, "attempt": 1},
    "fail": {"job_id": 1, "attempt": 1},
    "heartbeat": {"job_id": 1, "attempt": 1},
}


@pytest.mark.parametrize("granted", ["nothing", "EXECUTE alone"])
@pytest.mark.parametrize("function", CALLS)
def test_a_role_that_was_not_allowed_is_refused(conn, db, role, function, granted):
    job = enqueue(conn)
    if granted == "EXECUTE alone":
        conn.execute(f"GRANT USAGE ON SCHEMA turnstile, turnstile_internal TO {role}; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA turnstile, turnstile_internal TO {role}")
    before = rows.everything(conn)
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        post(db.connect(), role, function, CALLS[function])
    assert caught.value.sqlstate == NO_PRIVILEGE
    assert rows.everything(conn) == before
    assert rows.state(conn, job) == "available"


def test_the_role_of_a_request_lasts_as_long_as_the_request(conn, db, role):
    conn.execute(f"SELECT turnstile.allow_producer('{role}', ARRAY['mine'])")
    session = db.connect()
    assert post(session, role, "enqueue", {"kind": "k", "queue": "mine"}) > 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        post(session, role, "enqueue", {"kind": "k", "queue": "others"})
    assert session.execute("SELECT current_user = session_user").fetchone() == (True,)
    assert enqueue(session, queue="others") > 0


def test_no_function_is_overloaded(module_conn):
    """It refuses to choose between functions of one name (PGRST203)."""
    found = "SELECT proname FROM pg_proc WHERE pronamespace = 'turnstile'::regnamespace GROUP BY proname HAVING count(*) > 1"
    assert module_conn.execute(found).fetchall() == []


def test_no_argument_is_without_a_name(module_conn):
    """It passes arguments by name, so one without a name could not be given."""
    found = """
        SELECT proname FROM pg_proc
        WHERE pronamespace = 'turnstile'::regnamespace AND pronargs > 0
            AND (proargnames IS NULL OR '' = ANY (proargnames[:pronargs]))
    """
    assert module_conn.execute(found).fetchall() == []
