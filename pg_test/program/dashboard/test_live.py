"""Live parts in a browser: they change without a reload, rest while nobody looks, and leave alone what somebody reads or types."""

import pytest
from playwright.sync_api import Page, expect

from support.calls import enqueue
from support.dashboard import with_parameters
from support.sleepers import until

# How often the program has asked for anything. Its samples for the charts go on whoever looks.
ASKED = """
SELECT coalesce(sum(calls), 0) FROM pg_stat_statements JOIN pg_database ON pg_database.oid = dbid
 WHERE datname = current_database() AND query LIKE '%%matching%%'
"""
HIDDEN = """hidden => {
  Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden});
  document.dispatchEvent(new Event('visibilitychange'));
}"""


@pytest.fixture(scope="module")
def conn(module_db):
    conn = module_db.connect()
    conn.execute("CREATE EXTENSION pg_stat_statements")
    return conn


@pytest.fixture(scope="module")
def shown(world, dashboard):
    return dashboard("--allow-writes")


@pytest.fixture
def viewer(shown, look_at):
    return look_at(shown)


def _live(page: Page) -> None:
    expect(page.locator("#live .live-state")).to_have_text("Live")


def _moves(conn, page: Page, queue: str) -> None:
    """A job that is added now is seen soon."""
    enqueue(conn, "any", queue=queue)
    page.locator("main").get_by_text(queue, exact=True).first.wait_for()


def test_a_page_changes_without_a_reload(conn, viewer):
    page = viewer.open("/queues")
    _live(page)
    page.evaluate("window.same = true")
    _moves(conn, page, "fresh")
    assert page.evaluate("window.same") is True
    viewer.is_content()


@pytest.mark.long
def test_it_rests_while_the_tab_is_hidden(conn, viewer):
    page = viewer.open("/queues")
    _live(page)
    page.evaluate(HIDDEN, True)
    # With the next event the program finds out.
    page.wait_for_timeout(2_500)
    asked = conn.execute(ASKED).fetchone()
    page.wait_for_timeout(4_500)
    assert conn.execute(ASKED).fetchone() == asked
    page.evaluate(HIDDEN, False)
    _live(page)
    _moves(conn, page, "after the rest")
    assert conn.execute(ASKED).fetchone() > asked
    viewer.is_content()


@pytest.mark.long
def test_it_can_be_paused(conn, viewer):
    """On the pages that follow as well, until it goes on."""
    page = viewer.open("/queues")
    _live(page)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator("#live .live-state")).to_have_text("Paused")
    enqueue(conn, "any", queue="while paused")
    page.wait_for_timeout(3_000)
    assert page.get_by_text("while paused", exact=True).count() == 0
    page = viewer.open("/tenants")
    expect(page.locator("#live .live-state")).to_have_text("Paused")
    page.get_by_role("button", name="Resume", exact=True).click()
    _live(page)
    viewer.is_content()


def test_what_is_typed_stays(conn, viewer):
    """Beside parts that change."""
    page = viewer.open("/queues")
    _live(page)
    page.locator("[data-filter]").type("not sent yet")
    _moves(conn, page, "while typing")
    assert page.locator("[data-filter]").input_value() == "not sent yet"
    assert page.evaluate("document.activeElement.matches('[data-filter]')")


def test_what_has_the_focus_stays(conn, viewer):
    """And is brought up to date when it has it no more."""
    page = viewer.open("/queues")
    _live(page)
    link = page.locator("[data-live] a").first
    link.focus()
    link.evaluate("element => { window.focused = element; }")
    enqueue(conn, "any", queue="while focused")
    page.wait_for_timeout(2_800)
    assert page.evaluate("document.activeElement === window.focused && window.focused.isConnected")
    assert page.get_by_text("while focused", exact=True).count() == 0
    page.locator("[data-filter]").focus()
    page.get_by_text("while focused", exact=True).wait_for()


@pytest.mark.long
def test_what_is_selected_stays(conn, viewer):
    page = viewer.open("/queues")
    _live(page)
    page.evaluate("""() => {
      const words = document.querySelector('[data-live] caption').firstChild;
      getSelection().setBaseAndExtent(words, 0, words, 5);
    }""")
    enqueue(conn, "any", queue="while selected")
    page.wait_for_timeout(2_800)
    assert page.evaluate("getSelection().toString().length") == 5
    page.evaluate("getSelection().removeAllRanges()")
    page.get_by_text("while selected", exact=True).wait_for()


def test_forms_in_the_page_are_not_replaced(world, conn, viewer):
    """A limit that somebody types is not taken away by what the server says meanwhile."""
    page = viewer.open(with_parameters("/queue", {"name": world.mail}))
    _live(page)
    for folded in page.locator("details:not([open])").all():
        if folded.locator("[name=max_running]").count():
            folded.locator("summary").first.click()
    place = page.locator("[name=max_running]")
    place.fill("123")
    page.locator("h1").click()
    conn.execute("SELECT turnstile.set_queue(%s, max_running => 77)", [world.mail])
    enqueue(conn, "any", queue=world.mail)
    page.wait_for_function("() => document.querySelector('main').innerText.includes('77')")
    assert place.input_value() == "123"


@pytest.mark.long
def test_a_lost_program_is_told_and_found_again(world, dashboard, look_at):
    first = dashboard()
    viewer = look_at(first)
    viewer.expected = {0}
    page = viewer.open("/queues")
    _live(page)
    first.kill()
    expect(page.locator("#live .live-state")).to_contain_text("lost", timeout=15_000)
    # What was shown is still there.
    assert page.locator("[data-live] table").count() == 1
    dashboard(listen=f"127.0.0.1:{first.port}")
    expect(page.locator("#live .live-state")).to_have_text("Live", timeout=30_000)


def test_times_go_on(world, viewer):
    """Also where nothing else changes."""
    page = viewer.open(with_parameters("/job", {"id": world.jobs["completed"]}))
    time = page.locator("main time[data-ago]").first
    before = time.inner_text()
    page.clock.install()
    page.reload()
    page.clock.fast_forward("05:00")
    expect(time).not_to_have_text(before)
    expect(time).to_contain_text("min")


def test_what_its_viewer_may_not_see_any_more_ends(viewers, dashboard, conn):
    """The stream ends with the rights, and the browser is refused when it comes again."""
    name = viewers.name("monitor")
    watched = dashboard(place=viewers.place(name))
    connection = watched.connect()
    connection.request("GET", "/queues", headers={"Accept": "text/event-stream"})
    response = connection.getresponse()
    assert response.status == 200 and response.readline()
    conn.execute("SELECT turnstile.disallow(%s::regrole)", [name])
    try:
        while response.readline():
            pass
        until(lambda: watched.first_event("/queues").status == 403, "it is refused")
    finally:
        conn.execute("SELECT turnstile.allow_monitor(%s::regrole)", [name])
    connection.close()
