"""With the keyboard alone: all that can be clicked can be reached, is seen when it is, and does the same."""

import pytest
from playwright.sync_api import expect

from support.browser import NARROW
from support.dashboard import pages, with_parameters
from support.dashboard_world import parameters

# Where the focus is: its place among all that can have it, and whether that can be seen.
FOCUS = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  const box = at.getBoundingClientRect();
  return {
    name: at.tagName, words: (at.innerText || at.value || at.ariaLabel || '').trim(), place: [...document.querySelectorAll('*')].indexOf(at),
    outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
    shown: box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth,
  };
}"""
# What a mouse can use.
USABLE = """() => {
  const all = [...document.querySelectorAll('*')];
  const usable = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]:not([tabindex="-1"])';
  return all.map((element, place) => [element, place])
    .filter(([element]) => element.matches(usable) && !element.disabled && element.checkVisibility({visibilityProperty: true}))
    .map(([element, place]) => place);
}"""
QUICK = ["/", "/tenant", "/jobs"]
PLACES = [*QUICK, *(pytest.param(path, marks=pytest.mark.long) for path in pages() if path not in QUICK)]


@pytest.fixture(scope="module")
def shown(world, dashboard):
    return dashboard("--allow-writes")


@pytest.fixture
def paused(shown, look_at):
    """Live parts rest, so that nothing moves under the focus."""

    def start(path: str, **options):
        viewer = look_at(shown, **options)
        viewer.context.add_init_script("sessionStorage.setItem('turnstile-paused', 'yes')")
        viewer.open(path)
        return viewer

    return start


@pytest.mark.parametrize("path", PLACES)
def test_all_can_be_reached_in_order(world, paused, path):
    """From the top of the page to its end: each thing once, in the order in which it stands, and visibly."""
    viewer = paused(with_parameters(path, parameters(world, path)))
    page = viewer.page
    usable = page.evaluate(USABLE)
    reached = []
    for _ in range(len(usable) + 5):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if focus["name"] == "BODY":
            break
        assert focus["outlined"] and focus["shown"], focus
        reached.append(focus["place"])
    assert reached == sorted(set(reached)), path
    assert set(usable) <= set(reached), [page.evaluate("n => document.querySelectorAll('*')[n].outerHTML.slice(0, 200)", n) for n in set(usable) - set(reached)]


@pytest.mark.parametrize("options", [{}, {"viewport": NARROW}])
def test_the_navigation_can_be_skipped(paused, options):
    page = paused("/queues", **options).page
    page.keyboard.press("Tab")
    focus = page.evaluate(FOCUS)
    assert focus["words"].startswith("Skip") and focus["shown"], focus
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    # What follows is in the content.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_a_slash_leads_to_the_filter(paused):
    page = paused("/queues").page
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.matches('[data-filter]')")
    page.keyboard.type("ma/il")
    assert page.locator("[data-filter]").input_value() == "ma/il"
    page.keyboard.press("Escape")
    assert not page.evaluate("document.activeElement.matches('[data-filter]')")
    # With a modifier it is the browser's.
    page.keyboard.press("Control+/")
    assert not page.evaluate("document.activeElement.matches('[data-filter]')")


def test_a_filter_is_sent_by_enter(world, paused):
    page = paused("/queues").page
    page.keyboard.press("/")
    page.keyboard.type(world.bulk)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert f"q={world.bulk}" in page.url
    assert page.locator("main").get_by_role("link", name=world.mail, exact=True).count() == 0


def test_a_lever_is_used_by_keys(world, paused):
    viewer = paused(with_parameters("/tenant", {"name": world.acme}))
    page = viewer.page
    for _ in range(100):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUS)["words"] == "Pause 10 min":
            break
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_be_visible()
    paused_until = "SELECT paused_until > now() FROM turnstile.tenant WHERE name = %s"
    assert world.conn.execute(paused_until, [world.acme]).fetchone() == (True,)
    viewer.is_content()


def test_what_is_folded_opens_by_keys(world, paused):
    page = paused(with_parameters("/job", {"id": world.jobs["batch"]})).page
    folded = page.locator("main details summary").first
    if folded.count() == 0:
        pytest.skip("nothing is folded here")
    folded.focus()
    was_open = folded.evaluate("summary => summary.parentElement.open")
    page.keyboard.press("Enter")
    assert folded.evaluate("summary => summary.parentElement.open") is not was_open
