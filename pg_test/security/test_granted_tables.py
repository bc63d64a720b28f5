"""Roles that were granted something on the extension's tables: it works, and gives no more than it says."""

import psycopg
import pytest

from support import rows
from support.calls import call, claim_all, claim_next, enqueue, enqueue_times
from support.errors import NO_PRIVILEGE, NO_SUCH_JOB, WRONG_STATE
from support.recurring import fire, only_by_hand, recurring_jobs

SETTINGS = {
    "queue": ("name", "'mail'", "max_running", {"queue": "mail"}),
    "tenant": ("name", "'acme'", "slots", {"tenant": "acme"}),
    "account": ("tenant, name", "'acme', 'free'", "slots", {"tenant": "acme", "account": "free"}),
    "concurrency": ("key", "'k'", "slots", {"concurrency_key": "k"}),
}
# What a producer needs to enqueue by INSERT or COPY; id, state, position and what the scheduler writes are not among it.
ENQUEUED = "kind, payload, queue, tenant, account, session, concurrency_key, priority, run_at, max_attempts, metadata"


def _sqlstate(session, statement: str) -> str | None:
    try:
        session.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    return None


# ---- Settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", SETTINGS)
@pytest.mark.parametrize("way", ["INSERT", "COPY", "MERGE", "ON CONFLICT", "UPDATE"])
def test_a_role_that_may_write_settings_sets_limits(conn, make_user, table, way):
    """The key of the gate is set for it: it needs no right on the function that makes it."""
    keys, values, limit, job = SETTINGS[table]
    user = make_user("USAGE ON SCHEMA turnstile", f"SELECT, INSERT, UPDATE, DELETE ON turnstile.{table}")
    session = user.connect()
    insert = f"INSERT INTO turnstile.{table} ({keys}, {limit}) VALUES ({values}, 1)"
    if way == "COPY":
        with session.cursor().copy(f"COPY turnstile.{table} ({keys}, {limit}) FROM STDIN") as copy:
            copy.write_row([value.strip(" '") for value in values.split(",")] + [1])
    elif way == "MERGE":
        session.execute(f"MERGE INTO turnstile.{table} AS t USING (SELECT 1) AS one ON false"
                        f" WHEN NOT MATCHED THEN INSERT ({keys}, {limit}) VALUES ({values}, 1)")  # fmt: skip
    elif way == "UPDATE":
        session.execute(insert.replace(", 1)", ", 5)"))
        session.execute(f"UPDATE turnstile.{table} SET {limit} = 1")
    else:
        session.execute(insert + (f" ON CONFLICT ({keys}) DO UPDATE SET {limit} = excluded.{limit}" if way == "ON CONFLICT" else ""))
    enqueue_times(conn, 3, **({"queue": "mail"} | job))
    assert len(claim_all(conn, "mail")) == 1


def test_a_role_that_may_write_paused_sessions_pauses_one(conn, make_user):
    session = make_user("USAGE ON SCHEMA turnstile", "SELECT, INSERT, DELETE ON turnstile.paused_session").connect()
    session.execute("INSERT INTO turnstile.paused_session (queue, tenant, session) VALUES ('mail', 'acme', 's')")
    enqueue(conn, queue="mail", tenant="acme", session="s")
    other = enqueue(conn, queue="mail", session="s")
    assert [run.id for run in claim_all(conn, "mail")] == [other]
    session.execute("DELETE FROM turnstile.paused_session")
    assert claim_next(conn, "mail")


def test_a_role_that_may_write_endpoints_and_slowed_keys_needs_no_function(conn, make_user):
    tables = ["SELECT, INSERT, UPDATE, DELETE ON turnstile.endpoint", "SELECT, INSERT, DELETE ON turnstile.slowed_key"]
    session = make_user("USAGE ON SCHEMA turnstile", *tables).connect()
    session.execute("INSERT INTO turnstile.endpoint (pattern, url) VALUES ('work', 'http://A.example:80/')")
    job = enqueue(conn)
    assert conn.execute("SELECT concurrency_key FROM turnstile.job").fetchone() == ("host:a.example",)
    session.execute("INSERT INTO turnstile.slowed_key (key, paused_until, gate) VALUES ('host:a.example', 'infinity', 7)")
    assert claim_next(conn) is None
    session.execute("DELETE FROM turnstile.slowed_key; UPDATE turnstile.endpoint SET paused = true")
    assert claim_next(conn) is None
    session.execute("DELETE FROM turnstile.endpoint")
    assert claim_next(conn).id == job


@pytest.mark.parametrize("table", SETTINGS)
def test_the_key_of_a_gate_is_what_the_name_says(conn, table):
    """Whatever is written there, on the way in and later."""
    keys, values, limit, _ = SETTINGS[table]
    wanted = {"account": "turnstile_internal.gate_key('account', tenant, name)", "concurrency": "turnstile_internal.gate_key('concurrency', NULL, key)"}
    wanted = wanted.get(table, f"turnstile_internal.gate_key('{table}', NULL, name)")
    conn.execute(f"INSERT INTO turnstile.{table} ({keys}, {limit}, gate) VALUES ({values}, 1, 7)")
    assert conn.execute(f"SELECT gate = {wanted} FROM turnstile.{table} WHERE {limit} = 1").fetchall() == [(True,)]
    conn.execute(f"UPDATE turnstile.{table} SET gate = 8 WHERE {limit} = 1")
    conn.execute(f"UPDATE turnstile.{table} SET {keys.split(', ')[-1]} = 'renamed' WHERE {limit} = 1")
    assert conn.execute(f"SELECT gate = {wanted} FROM turnstile.{table} WHERE {limit} = 1").fetchall() == [(True,)]
    conn.execute("SET session_replication_role = replica")
    conn.execute(f"UPDATE turnstile.{table} SET gate = 8 WHERE {limit} = 1")
    assert conn.execute(f"SELECT gate = {wanted} FROM turnstile.{table} WHERE {limit} = 1").fetchall() == [(True,)]
    assert _sqlstate(conn, f"UPDATE turnstile.{table} SET {keys.split(', ')[-1]} = NULL") == "23502"


# ---- Jobs -----------------------------------------------------------------------------------------


@pytest.fixture
def producer(make_user):
    """A role with INSERT on the columns that enqueue has arguments for."""
    user = make_user("USAGE ON SCHEMA turnstile", f"INSERT ({ENQUEUED}) ON turnstile.job", "USAGE ON ALL SEQUENCES IN SCHEMA turnstile")
    return user.connect()


def test_insert_on_some_columns_is_enough_to_enqueue(conn, producer):
    producer.execute("INSERT INTO turnstile.job (kind, queue, tenant, payload, run_at) VALUES ('now', 'mail', 'acme', '[1]', now())")
    producer.execute("INSERT INTO turnstile.job (kind, queue, run_at) VALUES ('later', 'mail', now() + interval '1 hour')")
    with producer.cursor().copy("COPY turnstile.job (kind, queue, priority) FROM STDIN") as copy:
        copy.write_row(("first", "mail", -1))
    assert [run.kind for run in claim_all(conn, "mail")] == ["first", "now"]
    assert rows.counts(conn) == {"running": 2, "scheduled": 1}


def test_whoever_may_insert_these_columns_sets_no_others(conn, producer):
    columns = [name for (name,) in conn.execute(
        "SELECT attname::text FROM pg_attribute WHERE attrelid = 'turnstile.job'::regclass AND attnum > 0 AND NOT attisdropped"
    )]  # fmt: skip
    others = [name for name in columns if name not in ENQUEUED.split(", ")]
    assert {"id", "state", "position", "lane", "lane_group", "attempt", "created_at", "owner_pid", "holds_session"} <= set(others)
    for name in others:
        assert _sqlstate(producer, f"INSERT INTO turnstile.job (kind, {name}) VALUES ('x', DEFAULT)") == NO_PRIVILEGE, name
    for statement in ("UPDATE turnstile.job SET kind = 'x'", "DELETE FROM turnstile.job", "SELECT FROM turnstile.job",
                      "INSERT INTO turnstile.job (kind) VALUES ('x') RETURNING id", "TRUNCATE turnstile.job",
                      "DO $$ BEGIN LOCK turnstile.job IN ACCESS EXCLUSIVE MODE; END $$",
                      "CREATE TRIGGER t BEFORE INSERT ON turnstile.job FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
                      "CREATE RULE r AS ON INSERT TO turnstile.job DO INSTEAD NOTHING"):  # fmt: skip
        assert _sqlstate(producer, statement) == NO_PRIVILEGE, statement
    # setval() is for those with UPDATE on a sequence: none of ours is.
    assert _sqlstate(producer, "SELECT setval('turnstile.job_id_seq', 1)") == NO_PRIVILEGE


def test_the_scripts_grant_nothing_to_anybody(conn):
    """Above all not TRIGGER, REFERENCES or TRUNCATE, which are as good as ownership."""
    query = """
        SELECT relname, pg_get_userbyid(grantee), privilege_type FROM pg_class
        CROSS JOIN LATERAL aclexplode(relacl) WHERE relnamespace = 'turnstile'::regnamespace AND grantee <> relowner
        UNION ALL
        SELECT relname || '.' || attname, pg_get_userbyid(grantee), privilege_type FROM pg_attribute
        JOIN pg_class ON pg_class.oid = attrelid
        CROSS JOIN LATERAL aclexplode(attacl) WHERE relnamespace = 'turnstile'::regnamespace
        UNION ALL
        SELECT proname, pg_get_userbyid(grantee), privilege_type FROM pg_proc
        CROSS JOIN LATERAL aclexplode(proacl) WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) AND grantee <> proowner
        UNION ALL
        SELECT typname, pg_get_userbyid(grantee), privilege_type FROM pg_type
        CROSS JOIN LATERAL aclexplode(typacl) WHERE typnamespace = 'turnstile'::regnamespace AND grantee <> typowner
    """
    assert conn.execute(query).fetchall() == []


def test_no_row_type_can_be_used_without_a_right(conn, intruder):
    """A column of that type in somebody's table would stand in the way of DROP EXTENSION, and of a partition's end."""
    conn.execute(f'CREATE SCHEMA rival AUTHORIZATION "{intruder.name}"')
    assert call(conn, "make_history_partitions", days_ahead=9)[0][0] > 0
    session = intruder.connect()
    types = [name for (name,) in conn.execute(
        "SELECT typ.oid::regtype::text FROM pg_type AS typ LEFT JOIN pg_class ON pg_class.oid = typrelid"
        " WHERE typnamespace = 'turnstile'::regnamespace AND typtype = 'c'"
    )]  # fmt: skip
    assert "turnstile.job" in types
    assert "turnstile.queues" in types
    open_days = [name for name in types if _sqlstate(session, f"CREATE TABLE rival.holds_{types.index(name)} (held {name})") is None]
    assert open_days == []
    for name in ("turnstile.job", "turnstile.queues"):
        assert _sqlstate(session, f"CREATE FUNCTION rival.f({name}) RETURNS int LANGUAGE sql AS 'SELECT 1'") == NO_PRIVILEGE


# ---- Recurring jobs -------------------------------------------------------------------------------


def _recur(conn, owner: str, name: str = "nightly") -> None:
    conn.execute(
        "INSERT INTO turnstile.recurring (name, cron, kind, next_firing, owner) VALUES (%s, '0 3 1 1 *', 'report', '2026-01-01', %s)",
        [name, owner],
    )


@pytest.fixture
def planners(make_user):
    return [make_user("USAGE ON SCHEMA turnstile", "EXECUTE ON FUNCTION turnstile.schedule, turnstile.unschedule") for _ in range(2)]


def test_a_recurring_job_is_its_owners(conn, planners):
    owner, other = planners
    _recur(conn, owner.name)
    session = other.connect()
    for statement in ("SELECT turnstile.unschedule('nightly')", "SELECT turnstile.schedule('nightly', '* * * * *', 'mine')"):
        assert _sqlstate(session, statement) == NO_PRIVILEGE
    [shown] = recurring_jobs(conn)
    assert (shown.kind, shown.owner) == ("report", owner.name)
    assert call(owner.connect(), "unschedule", name="nightly")[0][0] is True
    assert call(owner.connect(), "unschedule", name="nightly")[0][0] is False


def test_members_of_the_owner_and_superusers_may_end_it(conn, planners):
    owner, member = planners
    conn.execute(f'GRANT "{owner.name}" TO "{member.name}"')
    _recur(conn, owner.name)
    assert call(member.connect(), "unschedule", name="nightly")[0][0] is True
    _recur(conn, owner.name)
    assert call(conn, "unschedule", name="nightly")[0][0] is True
    _recur(conn, "somebody who is gone")
    assert _sqlstate(member.connect(), "SELECT turnstile.unschedule('nightly')") == NO_PRIVILEGE
    assert call(conn, "unschedule", name="nightly")[0][0] is True


@pytest.mark.parametrize("inherit", ["TRUE", "FALSE"])
@pytest.mark.parametrize("may_set", ["TRUE", "FALSE"])
def test_a_membership_that_gives_nothing_does_not_count(conn, planners, inherit, may_set):
    if conn.info.server_version < 160000:
        pytest.skip("a membership has these options from PostgreSQL 16 on")
    owner, member = planners
    conn.execute(f'GRANT "{owner.name}" TO "{member.name}" WITH INHERIT {inherit}, SET {may_set}')
    _recur(conn, owner.name)
    found = _sqlstate(member.connect(), "SELECT turnstile.unschedule('nightly')")
    assert found == (None if "TRUE" in (inherit, may_set) else NO_PRIVILEGE)


def test_the_caller_is_whose_rights_hold(conn, planners):
    """SET ROLE counts, and so does a wrapper that is SECURITY DEFINER."""
    owner, other = planners
    _recur(conn, owner.name)
    conn.execute(f'SET ROLE "{other.name}"')
    assert _sqlstate(conn, "SELECT turnstile.unschedule('nightly')") == NO_PRIVILEGE
    conn.execute(f'SET ROLE "{owner.name}"')
    assert _sqlstate(conn, "SELECT turnstile.unschedule('nightly')") is None
    conn.execute("RESET ROLE")
    _recur(conn, owner.name)
    conn.execute("CREATE FUNCTION public.wrap() RETURNS boolean LANGUAGE sql SECURITY DEFINER AS $$ SELECT turnstile.unschedule('nightly') $$")
    conn.execute(f'ALTER FUNCTION public.wrap() OWNER TO "{owner.name}"')
    assert other.connect().execute("SELECT public.wrap()").fetchone()[0] is True


def test_after_the_call_the_caller_is_who_he_was(conn, planners):
    session = planners[0].connect()
    for statement in ("SELECT turnstile.unschedule('nightly')", "SELECT turnstile.unschedule('')"):
        _sqlstate(session, f"DO $$ BEGIN PERFORM 1 FROM ({statement}) x; EXCEPTION WHEN OTHERS THEN NULL; END $$")
        _sqlstate(session, statement)
        assert session.execute("SELECT current_user, session_user, current_setting('role')").fetchone() == (
            planners[0].name, planners[0].name, "none")  # fmt: skip
        assert session.execute("SHOW search_path").fetchone()[0] == '"$user", public'
        assert _sqlstate(session, "TABLE turnstile.recurring") == NO_PRIVILEGE


def test_who_may_not_enqueue_may_not_schedule(planners):
    session = planners[0].connect()
    assert _sqlstate(session, "SELECT turnstile.schedule('nightly', '* * * * *', 'report')") == NO_PRIVILEGE
    with pytest.raises(psycopg.Error) as caught:
        session.execute("SELECT turnstile.schedule('nightly', '* * * * *', 'report')")
    assert "allow_producer" in caught.value.diag.message_hint


def test_a_firing_has_its_owners_rights(conn, planners):
    """The right is asked for at each firing: what was revoked since is not done."""
    only_by_hand(conn)
    owner = planners[0]
    _recur(conn, owner.name)
    assert fire(conn) == 0
    assert "permission denied" in recurring_jobs(conn)[0].last_error
    assert rows.counts(conn) == {}
    owner.grant(conn, "EXECUTE ON FUNCTION turnstile.enqueue")
    conn.execute("UPDATE turnstile.recurring SET next_firing = '2026-01-01'")
    assert fire(conn) == 1
    assert conn.execute("SELECT current_user = session_user").fetchone()[0] is True
    conn.execute("DELETE FROM turnstile.permission; UPDATE turnstile.recurring SET next_firing = '2026-01-01'")
    assert fire(conn) == 0
    owner.grant(conn, "USAGE ON SCHEMA turnstile_internal", "EXECUTE ON FUNCTION turnstile_internal.enqueue_firing, turnstile_internal.fire_once")
    for statement in ("turnstile_internal.enqueue_firing('nightly', now())", "turnstile_internal.fire_once('nightly', now(), now())"):
        assert _sqlstate(owner.connect(), f"SELECT {statement}") == NO_PRIVILEGE


def test_an_operator_pauses_the_recurring_jobs_of_all(conn, planners, make_user):
    owner, other = planners
    _recur(conn, owner.name)
    conn.execute("DELETE FROM turnstile.permission")
    operator = make_user()
    conn.execute(f'SELECT turnstile.allow_operator(\'"{operator.name}"\')')
    for verb in ("pause_recurring", "resume_recurring"):
        conn.execute(f'GRANT EXECUTE ON FUNCTION turnstile.{verb} TO "{owner.name}", "{other.name}"')
        assert _sqlstate(other.connect(), f"SELECT turnstile.{verb}('nightly')") == NO_PRIVILEGE
        assert call(owner.connect(), verb, name="nightly")[0][0] is True
        assert call(operator.connect(), verb, name="nightly")[0][0] is True
    assert _sqlstate(operator.connect(), "SELECT turnstile.unschedule('nightly')") == NO_PRIVILEGE
