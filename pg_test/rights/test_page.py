"""docs/security.md says what the catalog says, and the matrix of tests knows every function."""

import re

import pytest
from rights import page
from rights.cases import CASES

from support.calls import call


def test_the_page_is_up_to_date(module_conn):
    assert page.in_page() == page.matrix(module_conn), "run: make security-page"


def test_the_functions_that_users_see_are_those_of_the_page(module_conn):
    """What only the extension calls is in a schema of its own."""
    assert {name for (name,) in module_conn.execute(page.FUNCTIONS).fetchall()} == set(page.NEEDS)


def test_each_function_with_a_check_is_tried(module_conn):
    tried = set(re.findall(r"turnstile\.(\w+)\(", " ".join(case.statement for case in CASES)))
    checked = {name for name, need in page.NEEDS.items() if "`" in need and not name.startswith(("allow_", "disallow"))}
    # Each of these passes over what its caller may not touch, and has tests of its own.
    untried = checked - tried - {"complete_many", "fail_many", "heartbeat_many", "why_waiting_many", "batch_results", "pause_recurring", "resume_recurring"}
    assert untried == set()


@pytest.mark.parametrize("kind", page.KINDS)
def test_what_is_granted_together_exists(conn, role, kind):
    """And is granted: an object that is renamed would be missed."""
    more = {"tenant": ", '{acme}'"}.get(kind, "")
    conn.execute(f"SELECT turnstile.allow_{kind}(%s::text::regrole{more})", [role])
    for name, privileges in page.granted(conn)[kind].items():
        for privilege in privileges.split(", "):
            what = "function" if privilege == "EXECUTE" else "table"
            of = (
                "(SELECT oid FROM pg_proc WHERE proname = %s AND pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace))"
                if what == "function"
                else "('turnstile.' || %s)::regclass::oid"
            )
            held = conn.execute(f"SELECT has_{what}_privilege(%s, {of}, %s)", [role, name, privilege]).fetchone()[0]
            assert held, f"{privilege} on {name}"


def test_who_is_allowed_everything_by_kind_needs_nothing_else(db, conn, role):
    """What allow_... grants is enough for what it is for, as plain a role as can be."""
    for kind, more in (("producer", ""), ("worker", ""), ("tenant", ", '{acme}'"), ("operator", "")):
        conn.execute(f"SELECT turnstile.allow_{kind}(%s::text::regrole{more})", [role])
    session = db.connect()
    session.execute(f'SET ROLE "{role}"')
    job = call(session, "enqueue", kind="k", tenant="acme")[0][0]
    assert [row.id for row in call(session, "claim", queues=["*"], max_jobs=5)] == [job]
    assert call(session, "complete", job_id=job, attempt=1)[0][0] is True
    for statement in (
        "SELECT turnstile.set_queue('q', max_running => 3)", "SELECT turnstile.set_tenant('t', slots => 3)",
        "SELECT turnstile.set_account('t', 'a', slots => 3)", "SELECT turnstile.set_concurrency('c', slots => 3)",
        "SELECT turnstile.pause_queue('q')", "SELECT turnstile.resume_queue('q')", "SELECT turnstile.pause_tenant('t')",
        "SELECT turnstile.resume_tenant('t')", "SELECT turnstile.pause_account('t', 'a')", "SELECT turnstile.resume_account('t', 'a')",
        "SELECT turnstile.pause_session('q', NULL, 's')", "SELECT turnstile.resume_session('q', NULL, 's')",
        "SELECT turnstile.pause_concurrency('c')", "SELECT turnstile.resume_concurrency('c')",
        "SELECT turnstile.set_endpoint('k', 'http://a.example')", "SELECT turnstile.endpoint_of('k')", "SELECT turnstile.drop_endpoint('k')",
        "SELECT turnstile.set_retry_curve('k', 'timeout', base => '1 minute')", "SELECT turnstile.drop_retry_curve('k', 'timeout')",
        "SELECT turnstile.set_route('k', queue => 'q')", "SELECT turnstile.drop_route('k')", "SELECT turnstile.route_of('k')",
        "SELECT turnstile.reroute('k')", "SELECT turnstile.rescue()", "SELECT turnstile.promote()", "SELECT turnstile.check()",
        "SELECT turnstile.rebuild()", "SELECT turnstile.maintain()", "SELECT turnstile.prune_unique_keys()",
        "SELECT turnstile.make_history_partitions()", "SELECT turnstile.cancel_many(queue => 'q')", "TABLE turnstile.job_status",
        "TABLE turnstile.my_jobs", "TABLE turnstile.queues", "TABLE turnstile.permissions", "TABLE turnstile.stat_queue",
        "TABLE turnstile.stat_tenant", "TABLE turnstile.metrics", "SELECT turnstile.stat_reset()", "UPDATE turnstile.tenant SET slots = 9",
        "INSERT INTO turnstile.queue (name) VALUES ('new')", "DELETE FROM turnstile.queue WHERE name = 'new'",
    ):  # fmt: skip
        session.execute(statement)
