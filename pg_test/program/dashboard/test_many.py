"""All jobs that match: first how many there are, then a change in chunks that goes on without the browser and can be stopped."""

import pytest
from playwright.sync_api import expect

from support import rows
from support.calls import call, enqueue_many
from support.dashboard import allow_tenant, with_parameters
from support.failing import failing
from support.sleepers import until

DISCARDED = "SELECT count(*) FROM turnstile.jobs WHERE kind = %s AND state = %s"
# Each row takes a while, so that there is time to look.
SLOW = """
CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.004); RETURN coalesce(NEW, OLD); END $$;
CREATE OR REPLACE TRIGGER slow BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW WHEN (pg_trigger_depth() < 1) EXECUTE FUNCTION slow();
"""


@pytest.fixture(scope="module")
def conn(module_db):
    return module_db.connect()


@pytest.fixture(scope="module")
def shown(dashboard):
    return dashboard("--allow-writes")


@pytest.fixture
def slowly(conn):
    """From then on."""
    yield lambda: conn.execute(SLOW)
    conn.execute("DROP TRIGGER slow ON turnstile.job")


def _jobs(conn, number: int, kind: str, discarded: bool = True, **more) -> None:
    enqueue_many(conn, [{"kind": kind, "queue": "mail", "tenant": "acme", **more}] * number)
    if discarded:
        while call(conn, "discard_many", kind=kind)[0][0]:
            pass


def _count(conn, kind: str, state: str) -> int:
    return conn.execute(DISCARDED, [kind, state]).fetchone()[0]


@pytest.mark.parametrize("script", [True, pytest.param(False, marks=pytest.mark.long)])
def test_from_the_list_to_the_end(conn, shown, look_at, script):
    """The way that a person goes: filter, see, preview, start, watch."""
    kind = f"failed {script}"
    _jobs(conn, 300, kind)
    others = f"other {script}"
    _jobs(conn, 7, others)
    viewer = look_at(shown, java_script_enabled=script)
    page = viewer.open("/jobs")
    filters = page.locator("form.filters")
    filters.locator("[name=kind]").fill(kind)
    with page.expect_navigation():
        filters.get_by_role("button", name="Filter").click()
    with page.expect_navigation():
        page.get_by_role("link", name="Retry all").or_(page.get_by_role("link", name="Retry")).first.click()
    assert "300" in page.locator("main").inner_text() and kind in page.locator("main").inner_text()
    assert _count(conn, kind, "discarded") == 300
    with page.expect_navigation():
        page.locator("form[action$='/jobs/retry']").get_by_role("button").click()
    assert "/change?number=" in page.url
    until(lambda: _count(conn, kind, "available") == 300, "all are available")
    if not script:
        until(lambda: page.reload() and "done" in page.locator("main").inner_text(), "it is done")
    expect(page.locator("main")).to_contain_text("done")
    expect(page.locator("main")).to_contain_text("300")
    # Rows of the history stay.
    assert (_count(conn, others, "available"), _count(conn, others, "discarded")) == (0, 7)
    assert viewer.complaints == []


@pytest.mark.parametrize("deed, state", [("cancel", "cancelled"), ("discard", "discarded")])
def test_jobs_that_wait_are_ended(conn, shown, look_at, deed, state):
    kind = f"to {deed}"
    _jobs(conn, 50, kind, discarded=False)
    viewer = look_at(shown)
    page = viewer.open(with_parameters("/jobs/change", {"deed": deed, "kind": kind}))
    # What was read a moment ago for another test may not have them yet.
    until(lambda: "50" in page.locator("main").inner_text() or not page.reload(), "they are counted")
    with page.expect_navigation():
        page.locator(f"form[action$='/jobs/{deed}']").get_by_role("button").click()
    expect(page.locator("main")).to_contain_text("done")
    assert _count(conn, kind, state) == 50
    viewer.is_content()


@pytest.mark.long
def test_it_goes_on_when_the_browser_has_gone(conn, shown, look_at, slowly):
    _jobs(conn, 1000, "goes on", discarded=False)
    slowly()
    viewer = look_at(shown)
    page = viewer.open(with_parameters("/jobs/change", {"deed": "cancel", "kind": "goes on"}))
    with page.expect_navigation():
        page.locator("form[action$='/jobs/cancel']").get_by_role("button").click()
    place = page.url
    viewer.close()
    assert _count(conn, "goes on", "available") > 0
    until(lambda: _count(conn, "goes on", "available") == 0, "all are cancelled", lambda: str(rows.counts(conn)))
    # Who comes back finds it again.
    later = look_at(shown)
    page = later.open("/change")
    page.locator("main a[href*='/change?number=']").first.click()
    assert page.url == place
    expect(page.locator("main")).to_contain_text("done")


def test_it_shows_how_far_it_is_and_can_be_stopped(conn, shown, look_at, slowly):
    _jobs(conn, 2500, "halted", discarded=False)
    slowly()
    viewer = look_at(shown)
    page = viewer.open(with_parameters("/jobs/change", {"deed": "cancel", "kind": "halted"}))
    with page.expect_navigation():
        page.locator("form[action$='/jobs/cancel']").get_by_role("button").click()
    # It moves without a reload.
    page.evaluate("window.same = true")
    first = page.locator("main").inner_text()
    page.wait_for_function("first => document.querySelector('main').innerText !== first", arg=first)
    assert page.evaluate("window.same")
    with page.expect_navigation():
        page.get_by_role("button", name="Stop").click()
    expect(page.locator("main")).to_contain_text("stopped")
    left = _count(conn, "halted", "available")
    assert 0 < left < 2500
    page.wait_for_timeout(1500)
    assert _count(conn, "halted", "available") == left
    viewer.is_content()


def test_what_is_discarded_again_is_left_alone(conn, shown):
    """Jobs that always fail are retried once by a change, and not for ever."""
    _jobs(conn, 20, "fails")
    conn.execute(
        "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM turnstile.discard(NEW.id); RETURN NULL; END $$;"
        "CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON turnstile.job DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW WHEN (NEW.kind = 'fails') EXECUTE FUNCTION fails()"
    )
    try:
        begun = shown.post("/jobs/retry", {"kind": "fails", "state": "discarded"})
        until(lambda: "goes on" not in shown.get(begun.headers["Location"]).text, "it ends", shown.stderr)
        # Once more each.
        assert _count(conn, "fails", "discarded") == 40
    finally:
        conn.execute("DROP TRIGGER fails ON turnstile.job")


def test_what_fails_again_is_left_alone(conn, shown):
    """More of them than a call retries."""
    with failing(conn, "fails again", 300):
        begun = shown.post("/jobs/retry", {"kind": "fails again"})
        until(lambda: "goes on" not in shown.get(begun.headers["Location"]).text, "it ends", shown.stderr)
        assert "300" in shown.get(begun.headers["Location"]).text


def test_a_change_without_a_filter_is_refused(conn, shown):
    for deed in ("retry", "cancel", "discard"):
        for fields in ({}, {"queue": "", "kind": ""}, {"other": "x"}, {"payload": "{}"}, {"kind": "x", "payload": "{}"}):
            assert shown.post(f"/jobs/{deed}", fields).status == 400, (deed, fields)


@pytest.mark.long
def test_rights_that_end_end_it(conn, module_db, viewers, dashboard, slowly):
    """Each chunk is done with the rights of then, and the page tells why it has failed."""
    role = viewers.name("nobody")
    allow_tenant(conn, role, "acme")
    watched = dashboard("--allow-writes", place=viewers.place(role))
    _jobs(conn, 1500, "by rights", discarded=False)
    slowly()
    begun = watched.post("/jobs/cancel", {"kind": "by rights", "tenant": "acme"})
    until(lambda: _count(conn, "by rights", "cancelled") > 0, "it has begun", watched.stderr)
    conn.execute("SELECT turnstile.disallow(%s::regrole)", [role])
    try:
        allow_tenant(conn, role, "globex")
        until(lambda: "42501" in watched.get(begun.headers["Location"]).text, "it says so", watched.stderr)
        assert _count(conn, "by rights", "available") > 0
    finally:
        conn.execute("SELECT turnstile.disallow(%s::regrole)", [role])
