"""Each lever in a browser: it is clicked where a person finds it, and its effect is in the database. Also without JavaScript."""

import time
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, expect

from support.dashboard import levers, with_parameters
from support.dashboard_world import World, populate
from support.database import fresh_database
from support.sleepers import until


@dataclass(frozen=True)
class Use:
    """A lever: its button, a condition that holds afterwards, and what is typed before."""

    lever: str
    button: str
    then: str
    typed: dict = field(default_factory=dict)


def _queue(w: World) -> str:
    return with_parameters("/queue", {"name": w.mail})


def _tenant(w: World) -> str:
    return with_parameters("/tenant", {"name": w.acme})


def _account(w: World) -> str:
    return with_parameters("/tenant", {"name": w.acme, "account": w.main})


def _key(w: World) -> str:
    return with_parameters("/keys", {"name": w.printer})


def _batch(w: World) -> str:
    return with_parameters("/batch", {"id": w.jobs["batch"]})


def _job(state: str):
    return lambda w: with_parameters("/job", {"id": w.jobs[state]})


OF_QUEUE = "FROM turnstile.queue WHERE name = %(mail)s"
OF_TENANT = "FROM turnstile.tenant WHERE name = %(acme)s"
OF_ACCOUNT = "FROM turnstile.account WHERE tenant = %(acme)s AND name = %(main)s"
OF_KEY = "FROM turnstile.concurrency WHERE key = %(printer)s"
OF_SLOWED = "FROM turnstile.slowed_key WHERE key = %(printer)s"
OF_BATCH = "FROM turnstile.batch WHERE id = %(batch)s"
OF_SESSION = "FROM turnstile.paused_session WHERE queue = %(mail)s AND tenant = %(acme)s AND session = %(thread)s"
IS_OPEN = "NOT paused AND paused_until IS NULL"
RATE = {"rate": "7", "rate_per": "1 minute", "burst": "2"}
HAS_RATE = "rate = 7 AND rate_per = '1 min' AND burst = 2"
GATES = {"/queue": (_queue, OF_QUEUE), "/tenant": (_tenant, OF_TENANT), "/account": (_account, OF_ACCOUNT), "/key": (_key, OF_KEY)}


def _of_gate(path: str, of: str) -> list[Use]:
    slots = "max_running" if path == "/queue" else "slots"
    # A pause of a key has a row of its own.
    where, forever, none = (OF_SLOWED, "paused_until = 'infinity'", "count(*) = 0") if path == "/key" else (of, "paused", IS_OPEN)
    uses = []
    for button, then in {
        "Pause 10 min": "paused_until > now() + '9 min'",
        "Pause 1 h": "paused_until > now() + '59 min'",
        "Pause until resumed": forever,
    }.items():
        uses.append(Use(f"{path}/pause", button, f"SELECT {then} {where}"))
        uses.append(Use(f"{path}/resume", "Resume", f"SELECT {none} {where}"))
    return [
        *uses,
        Use(f"{path}/limits", "Set limits", f"SELECT {slots} = 6 AND {HAS_RATE} {of}", {slots: "6"} | RATE),
        Use(f"{path}/limits", "Set limits", f"SELECT {slots} = -1 AND rate = -1 AND burst = 2 {of}", {slots: "no limit", "rate": "no limit"}),
        Use(f"{path}/limits", "Set limits", f"SELECT num_nulls({slots}, rate, rate_per, burst) = 4 {of}",
            {slots: "", "rate": "", "rate_per": "", "burst": ""}),
    ]


# On one page, one after the other.
STORIES = {path: (page, _of_gate(path, of)) for path, (page, of) in GATES.items()} | {
    "weight of a tenant": (_tenant, [
        Use("/tenant/limits", "Set limits", f"SELECT weight = 9 AND max_waiting = 100 {OF_TENANT}", {"weight": "9", "max_waiting": "100"}),
    ]),
    "session": (_job("waiting"), [
        Use("/session/pause", "Pause the session 10 min", f"SELECT until > now() + '9 min' {OF_SESSION}"),
        Use("/session/resume", "Resume the session", f"SELECT count(*) = 0 {OF_SESSION}"),
        Use("/session/pause", "Until resumed", f"SELECT until = 'infinity' {OF_SESSION}"),
        Use("/session/resume", "Resume the session", f"SELECT count(*) = 0 {OF_SESSION}"),
    ]),
    "batch": (_batch, [
        Use("/batch/pause", "Pause", f"SELECT paused {OF_BATCH}"),
        Use("/batch/resume", "Resume", f"SELECT NOT paused {OF_BATCH}"),
        Use("/batch/limits", "Change the limits", f"SELECT slots = 8 AND {HAS_RATE} AND max_failed = 3 {OF_BATCH}",
            {"slots": "8", "max_failed": "3"} | RATE),
        Use("/batch/limits", "Change the limits", f"SELECT slots IS NULL AND rate IS NULL {OF_BATCH}", {"slots": "", "rate": "", "burst": ""}),
    ]),
    "priority": (_job("waiting"), [
        Use("/job/priority", "Set the priority", "SELECT priority = -5 FROM turnstile.job WHERE id = %(waiting)s", {"priority": "-5"}),
    ]),
    "run": (_job("running"), [
        Use("/job/cancel", "Ask it to stop", "SELECT cancel_requested_at IS NOT NULL FROM turnstile.job WHERE id = %(running)s"),
    ]),
} | {
    f"{state} {button}": (_job(state), [Use(f"/job/{lever}", button, f"SELECT count(*) > 0 FROM turnstile.jobs WHERE id = %({state})s AND state = '{then}'")])
    for state, lever, button, then in (
        ("discarded", "retry", "Retry", "available"), ("cancelled", "retry", "Retry", "available"), ("completed", "retry", "Run again", "available"),
        ("retryable", "retry", "Retry now", "available"), ("scheduled", "retry", "Run now", "available"),
        ("waiting elsewhere", "cancel", "Cancel", "cancelled"), ("blocked", "discard", "Discard", "discarded"),
    )
}  # fmt: skip
# Made of the same parts as the others.
LIKE_OTHERS = ("/account", "/key")
# Tried in tests of their own.
OF_MANY = {"/jobs/retry", "/jobs/cancel", "/jobs/discard", "/change/stop"}


def test_each_lever_is_tried():
    assert {use.lever for _, uses in STORIES.values() for use in uses} | OF_MANY == set(levers())


@pytest.fixture(scope="module", params=[True, pytest.param(False, marks=pytest.mark.long)], ids=["", "without JavaScript"])
def script(request):
    return request.param


@pytest.fixture(scope="module")
def of_own(guarded, script):
    """A world for each way, since the levers change it."""
    with fresh_database() as database:
        yield populate(database.connect())


@pytest.fixture(autouse=True)
def nothing_is_remembered():
    """What was read is shown for a second, also when SQL has changed it meanwhile, and buttons are no live parts."""
    time.sleep(1.1)


@pytest.fixture(scope="module")
def shown(of_own, dashboard):
    return dashboard("--allow-writes", place=f"dbname={of_own.conn.info.dbname}")


@pytest.mark.parametrize("story", [pytest.param(story, marks=[pytest.mark.long] if story in LIKE_OTHERS else []) for story in STORIES])
def test_a_lever_does_what_it_says(of_own, shown, look_at, script, story):
    arguments = of_own.names | of_own.jobs
    viewer = look_at(shown, java_script_enabled=script)
    place, uses = STORIES[story]
    page = viewer.open(place(of_own))
    for use in uses:
        pull(page, use.lever, use.button, use.typed)
        # It leads to the page that shows what came of it, which says so.
        expect(page.locator(".notice")).to_be_visible()
        assert of_own.conn.execute(use.then, arguments).fetchone() == (True,), use
        if "/account" in use.lever:
            page = viewer.open(place(of_own))
    if script:
        viewer.is_content()
    assert viewer.complaints == []


def pull(page: Page, lever: str, button: str, typed: dict | None = None) -> None:
    """Types into the form of a lever, and clicks its button. What is folded is opened before."""
    form = page.locator(f"main form[action$='{lever}']").filter(has=page.get_by_role("button", name=button, exact=True)).first
    form.wait_for(state="attached")
    for folded in page.locator("details:not([open])").all():
        if folded.locator(f"form[action$='{lever}']").count():
            folded.locator("summary").first.click()
    for name, value in (typed or {}).items():
        place = form.locator(f"[name='{name}']")
        if place.evaluate("element => element.tagName") == "SELECT":
            place.select_option(value)
        else:
            place.fill(value)
    with page.expect_navigation():
        form.get_by_role("button", name=button, exact=True).click()


def test_what_is_typed_wrong_is_told(of_own, shown, look_at):
    """And changes nothing."""
    viewer = look_at(shown)
    viewer.expected = {400}
    page = viewer.open(_key(of_own))
    limits = of_own.conn.execute(f"SELECT slots, rate {OF_KEY}", of_own.names).fetchone()
    form = page.locator("form[action$='/key/limits']")
    form.locator("[name=rate]").fill("0")
    form.evaluate("form => form.noValidate = true")
    with page.expect_navigation():
        form.get_by_role("button").click()
    assert "22023" in page.locator("main").inner_text()
    assert of_own.conn.execute(f"SELECT slots, rate {OF_KEY}", of_own.names).fetchone() == limits


def test_a_form_is_sent_once(of_own, shown, look_at, script):
    """However often its button is clicked."""
    if not script:
        pytest.skip("a browser without scripts sends what it is told to")
    viewer = look_at(shown)
    page = viewer.open(_queue(of_own))
    sent = []
    page.on("request", lambda request: request.method == "POST" and sent.append(request.url))
    button = page.get_by_role("button", name="Pause 10 min")
    button.evaluate("button => { button.click(); button.click(); button.click(); }")
    page.locator(".notice").wait_for()
    until(lambda: len(sent) == 1, "it is sent once", lambda: str(sent))
