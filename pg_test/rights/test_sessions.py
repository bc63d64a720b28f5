"""What a session may do follows what is granted while it is open: permissions, membership, roles; also for prepared statements."""

import pytest
from psycopg import sql

from support.calls import claim, claim_next, complete, complete_and_claim_next, enqueue, retry
from support.errors import NO_PRIVILEGE, WRONG_STATE, refused
from support.sleepers import Sleeper, await_asleep


@pytest.fixture
def session(db, role):
    """A connection that has become the role."""
    connection = db.connect()
    connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    return connection


@pytest.fixture
def group(db, conn, role):
    """A role that has what a producer and a worker of the queue mail have; the other role is no member yet."""
    name = f"{role}_group"
    conn.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))
    conn.execute("SELECT turnstile.allow_producer(%s::text::regrole, '{mail}'), turnstile.allow_worker(%s::text::regrole, '{mail}')", [name, name])
    yield name
    with db.connect() as owner:
        owner.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))


def _allow(conn, what: str, role: str, *more):
    places = "".join(", %s" for _ in more)
    conn.execute(f"SELECT turnstile.{what}(%s::text::regrole{places})", [role, *more])


def _member(conn, change: str, group: str, role: str):
    words = {"GRANT": "TO", "REVOKE": "FROM"}
    conn.execute(sql.SQL(f"{change} {{}} {words[change]} {{}}").format(sql.Identifier(group), sql.Identifier(role)))


def _inherits(conn, group: str, role: str, inherits: bool):
    """From 16 on the grant says whether the role has the rights of the group, before that the role does."""
    if conn.info.server_version >= 160000:
        change = f"GRANT {{group}} TO {{role}} WITH INHERIT {inherits}"
    else:
        change = f"ALTER ROLE {{role}} {'INHERIT' if inherits else 'NOINHERIT'}"
    conn.execute(sql.SQL(change).format(group=sql.Identifier(group), role=sql.Identifier(role)))


def test_a_permission_counts_from_the_commit_on(conn, session, role):
    _allow(conn, "allow_producer", role, ["sms"])
    with refused(NO_PRIVILEGE):
        enqueue(session, queue="mail")
    conn.execute("BEGIN")
    _allow(conn, "allow_producer", role, ["mail"])
    with refused(NO_PRIVILEGE):
        enqueue(session, queue="mail")
    conn.execute("COMMIT")
    assert enqueue(session, queue="mail")
    conn.execute("DELETE FROM turnstile.permission WHERE queue = 'mail'")
    with refused(NO_PRIVILEGE):
        enqueue(session, queue="mail")
    assert enqueue(session, queue="sms")


def test_a_permission_counts_in_its_own_transaction_and_not_after_a_rollback(db, conn, role):
    _allow(conn, "allow_producer", role, ["sms"])
    conn.execute("BEGIN")
    conn.execute("SAVEPOINT before")
    conn.execute("INSERT INTO turnstile.permission VALUES (%s::text::regrole, 'enqueue', 'mail', '*')", [role])
    conn.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
    assert enqueue(conn, queue="mail")
    conn.execute("ROLLBACK TO SAVEPOINT before")
    conn.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
    with refused(NO_PRIVILEGE):
        enqueue(conn, queue="mail")
    conn.execute("ROLLBACK")


@pytest.mark.parametrize("change", ["TRUNCATE turnstile.permission", "UPDATE turnstile.permission SET queue = 'sms'"])
def test_any_change_of_the_table_counts(conn, session, role, change):
    _allow(conn, "allow_producer", role, ["mail"])
    enqueue(session, queue="mail")
    conn.execute("SET session_replication_role = replica")
    conn.execute(change)
    with refused(NO_PRIVILEGE):
        enqueue(session, queue="mail")


@pytest.mark.parametrize("prepared", [False, True], ids=["", "prepared"])
def test_membership_counts_from_the_next_call_on(conn, session, role, group, prepared):
    call = "SELECT turnstile.enqueue('k', queue => 'mail')"
    conn.execute(sql.SQL("GRANT USAGE ON SCHEMA turnstile, turnstile_internal TO {0}; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO {0}").format(sql.Identifier(role)))
    if prepared:
        session.execute(f"PREPARE add AS {call}")
        call = "EXECUTE add"
    for _ in range(2):
        with refused(NO_PRIVILEGE):
            session.execute(call)
        _member(conn, "GRANT", group, role)
        for _ in range(8):
            session.execute(call)
        _inherits(conn, group, role, False)
        with refused(NO_PRIVILEGE):
            session.execute(call)
        _inherits(conn, group, role, True)
        session.execute(call)
        _member(conn, "REVOKE", group, role)


def test_membership_of_a_member_counts(conn, session, role, group):
    between = f"{role}_between"
    conn.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(between)))
    _member(conn, "GRANT", group, between)
    _member(conn, "GRANT", between, role)
    assert enqueue(session, queue="mail")
    conn.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(between)))
    with pytest.raises(Exception, match="permission denied"):
        enqueue(session, queue="mail")


def test_a_prepared_statement_follows_the_role_of_the_moment(db, conn, role, group):
    """Not that for which it was planned."""
    session = db.connect()
    session.execute("PREPARE take AS SELECT queue FROM turnstile.claim('{*}', 9)")
    _allow(conn, "allow_worker", role, ["sms"])
    for queue in ("mail", "sms", "fax"):
        enqueue(conn, queue=queue)
    seen = {}
    for name in (None, role, group, role, None):
        session.execute("BEGIN")
        if name:
            session.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(name)))
        seen.setdefault(name, []).append(sorted(row[0] for row in session.execute("EXECUTE take").fetchall()))
        session.execute("ROLLBACK")
    assert seen == {None: [["fax", "mail", "sms"]] * 2, role: [["sms"]] * 2, group: [["mail"]]}


def test_the_role_is_that_of_before_after_an_error(db, conn, role):
    """A refused call in a block that catches it leaves neither the owner's rights nor his settings behind."""
    _allow(conn, "allow_producer", role, ["mail"])
    session = db.connect()
    session.execute("SET search_path = public, pg_catalog")
    session.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    session.execute("SET client_min_messages = notice")
    told = []
    session.add_notice_handler(lambda notice: told.append(notice.message_primary))
    session.execute("""
        DO $$
        DECLARE bad text;
        BEGIN
            FOREACH bad IN ARRAY ARRAY['sms', 'mail'] LOOP
                BEGIN
                    PERFORM turnstile.enqueue('k', queue => bad, unique_key => 'k');
                    RAISE EXCEPTION 'undone';
                EXCEPTION WHEN OTHERS THEN
                    RAISE NOTICE '% % %', SQLSTATE, current_user, current_setting('search_path');
                END;
            END LOOP;
        END $$""")
    assert told == [f"42501 {role} public, pg_catalog", f"P0001 {role} public, pg_catalog"]
    with pytest.raises(Exception, match="permission denied"):
        session.execute("TABLE turnstile.job")


def test_superusers_and_members_of_the_owner_may_do_everything(conn, session, role):
    conn.execute(sql.SQL("GRANT USAGE ON SCHEMA turnstile, turnstile_internal TO {0}; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO {0}").format(sql.Identifier(role)))
    with refused(NO_PRIVILEGE):
        enqueue(session, queue="mail")
    conn.execute(sql.SQL("ALTER ROLE {} SUPERUSER").format(sql.Identifier(role)))
    assert enqueue(session, queue="mail")
    conn.execute(sql.SQL("ALTER ROLE {} NOSUPERUSER").format(sql.Identifier(role)))
    with refused(NO_PRIVILEGE):
        enqueue(session, queue="mail")
    owner = conn.execute("SELECT relowner::regrole::text FROM pg_class WHERE oid = 'turnstile.job'::regclass").fetchone()[0]
    _member(conn, "GRANT", owner, role)
    assert enqueue(session, queue="mail")
    _member(conn, "REVOKE", owner, role)
    with refused(NO_PRIVILEGE):
        enqueue(session, queue="mail")


def test_a_wait_that_began_before_ends_with_the_permission(db, conn, session, role):
    """A claim that waits looks again at what it may do each time that it is woken."""
    _allow(conn, "allow_worker", role, ["mail"])
    assert claim_next(session, "*", wait="0") is None
    job = enqueue(conn, queue="mail")
    enqueue(conn, queue="sms")
    run = claim_next(session, "*", wait="1 minute")
    assert run.id == job
    assert complete(session, run)
    assert claim(session, ["*"], 5) == []


WAITS = {
    "a claim": "SELECT id FROM turnstile.claim_next('mail', wait => '1 minute')",
    "a claim from all": "SELECT id FROM turnstile.claim_next('*', wait => '1 minute')",
    "a procedure": "CALL turnstile.wait_for_job('{mail}', '1 minute')",
    "a procedure for all": "CALL turnstile.wait_for_job('{*}', '1 minute')",
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_who_has_lost_the_permission_while_it_waited_gets_no_job(conn, session, role, wait):
    _allow(conn, "allow_worker", role, ["mail"])
    sleeper = Sleeper(session, wait)
    await_asleep(conn, 1)
    _allow(conn, "disallow", role)
    enqueue(conn, queue="mail")
    assert sleeper.returned().error.sqlstate == NO_PRIVILEGE


@pytest.mark.parametrize("wait", [wait.replace("1 minute", "1 second") for wait in WAITS.values() if "*" in wait])
def test_who_has_lost_the_permission_for_a_queue_does_not_wait_for_it(conn, session, role, wait):
    _allow(conn, "allow_worker", role, ["mail", "sms"])
    sleeper = Sleeper(session, wait)
    await_asleep(conn, 1)
    conn.execute("DELETE FROM turnstile.permission WHERE queue = 'mail'")
    enqueue(conn, queue="mail")
    assert (sleeper.returned().error, sleeper.rows) == (None, [])


def test_the_queue_of_a_run_that_was_completed_before_is_claimed_from_only_by_who_may(conn, session, role):
    _allow(conn, "allow_worker", role, ["sms"])
    job = enqueue(conn, queue="mail")
    run = claim_next(conn, "mail")
    complete(conn, run)
    retry(conn, job)
    conn.execute("UPDATE turnstile.job SET queue = 'sms' WHERE id = %s", [job])
    enqueue(conn, queue="mail")
    for end in (complete, complete_and_claim_next):
        with refused(WRONG_STATE):
            end(session, run)
    moved = claim_next(session, "sms")
    assert moved.id == job and complete(session, moved)
    assert complete_and_claim_next(session, moved) is None
