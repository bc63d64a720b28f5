"""A name with a collation of the caller's means that name only, though the collation may take others for the same."""

import pytest
from psycopg.errors import FeatureNotSupported, UndefinedObject
from psycopg.sql import SQL

BLIND = "CREATE COLLATION public.blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
OTHERS = {
    "queue": "INSERT INTO turnstile.queue (name, max_running) VALUES ('OTHER', 7), ('Other', 7)",
    "tenant": "INSERT INTO turnstile.tenant (name, slots) VALUES ('OTHER', 7), ('Other', 7)",
    "account": "INSERT INTO turnstile.account (tenant, name, slots) VALUES ('OTHER', 'OTHER', 7), ('other', 'OTHER', 7), ('OTHER', 'other', 7)",
    "concurrency": "INSERT INTO turnstile.concurrency (key, slots) VALUES ('OTHER', 7), ('Other', 7)",
    "slowed_key": "INSERT INTO turnstile.slowed_key (key, paused_until) VALUES ('OTHER', 'infinity'), ('Other', 'infinity')",
    "paused_session": "INSERT INTO turnstile.paused_session (queue, tenant, session) VALUES ('OTHER', 'other', 'other'), ('other', 'other', 'OTHER')",
    "route": "INSERT INTO turnstile.route (pattern, queue) VALUES ('OTHER', 'q'), ('Other', 'q')",
    "retry_curve": "INSERT INTO turnstile.retry_curve (kind, error_class) VALUES ('OTHER', 'other'), ('other', 'OTHER')",
    "endpoint": "INSERT INTO turnstile.endpoint (pattern, url) VALUES ('OTHER', 'http://a.example'), ('Other', 'http://a.example')",
    "recurring": "INSERT INTO turnstile.recurring (name, cron, kind, next_firing) VALUES ('OTHER', '@daily', 'a', 'infinity'), ('Other', '@daily', 'a', 'infinity')",
}
# $ is the name.
CALLS = [
    "set_queue($, max_running => 2)", "pause_queue($)", "resume_queue($)",
    "set_tenant($, slots => 2)", "set_tenant($, clear => '{slots}')", "pause_tenant($)", "resume_tenant($)",
    "set_account($, $, slots => 2)", "pause_account($, $)", "resume_account($, $)",
    "set_concurrency($, slots => 2)", "set_concurrency($, clear => '{slots}')", "pause_concurrency($)", "resume_concurrency($)",
    "pause_session($, $, $)", "resume_session($, $, $)",
    "set_route($, 'p')", "drop_route($)", "set_retry_curve($, $, factor => 3)", "drop_retry_curve($, $)",
    "set_endpoint($, 'http://b.example')", "drop_endpoint($)",
    "schedule($, '@hourly', 'b')", "pause_recurring($)", "resume_recurring($)", "unschedule($)",
]  # fmt: skip


@pytest.fixture
def blind(conn):
    try:
        conn.execute(BLIND)
    except (FeatureNotSupported, UndefinedObject):
        pytest.skip("this server was built without ICU")
    for others in OTHERS.values():
        conn.execute(others)
    return conn


@pytest.mark.parametrize("call", CALLS)
def test_a_call_about_a_name_changes_no_other(blind, call):
    before = _others(blind)
    assert all(before.values())
    # With a row of its own and without.
    for _ in range(2):
        blind.execute(SQL("SELECT turnstile." + call.replace("$", "'other' COLLATE public.blind")))
    assert _others(blind) == before


def _others(conn) -> dict:
    rows = "SELECT it::text FROM turnstile.{} AS it WHERE it::text ~ 'OTHER|Other' ORDER BY 1"
    return {table: conn.execute(rows.format(table)).fetchall() for table in OTHERS}
