"""Each lever in a browser: it is clicked where a person finds it, and its effect is in the database. Also without JavaScript."""

from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, expect

from support.calls import call
from support.dashboard import levers, with_parameters
from support.dashboard_world import World, populate
from support.database import fresh_database
from support.sleepers import until


@dataclass(frozen=True)
class Use:
    """A lever on a page: its button, what is typed before, and a condition that holds afterwards."""

    lever: str
    page: object
    button: str
    then: str
    typed: dict = field(default_factory=dict)
    before: str = "SELECT"


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
PAUSES = {"Pause 10 min": "9 min", "Pause 1 h": "59 min"}
RATE = {"rate": "7", "rate_per": "1 minute", "burst": "2"}
HAS_RATE = "rate = 7 AND rate_per = '1 min' AND burst = 2"
GATES = {
    "/queue": (_queue, OF_QUEUE, "pause_queue(%(mail)s)"),
    "/tenant": (_tenant, OF_TENANT, "pause_tenant(%(acme)s)"),
    "/account": (_account, OF_ACCOUNT, "pause_account(%(acme)s, %(main)s)"),
    "/key": (_key, OF_KEY, "pause_concurrency(%(printer)s)"),
}


def _uses() -> list[Use]:
    uses = []
    for path, (page, of, pause) in GATES.items():
        slots = "max_running" if path == "/queue" else "slots"
        set_limits = "Set limits"
        # A pause of a key has a row of its own.
        where, forever, none = (OF_SLOWED, "paused_until = 'infinity'", "count(*) = 0") if path == "/key" else (of, "paused", IS_OPEN)
        uses += [Use(f"{path}/pause", page, label, f"SELECT paused_until > now() + '{least}' {where}") for label, least in PAUSES.items()]
        uses += [
            Use(f"{path}/pause", page, "Pause until resumed", f"SELECT {forever} {where}"),
            Use(f"{path}/resume", page, "Resume", f"SELECT {none} {where}", before=f"SELECT turnstile.{pause}"),
            Use(f"{path}/limits", page, set_limits, f"SELECT {slots} = 6 AND {HAS_RATE} {of}", {slots: "6"} | RATE),
            Use(f"{path}/limits", page, set_limits, f"SELECT {slots} IS NULL AND rate IS NULL {of}", {slots: "", "rate": "", "burst": ""}),
        ]
    state = "SELECT EXISTS (SELECT FROM turnstile.jobs WHERE id = %(job)s AND state = '{}')"
    return [
        *uses,
        Use("/tenant/limits", _tenant, "Set limits", f"SELECT weight = 9 AND max_waiting = 100 {OF_TENANT}", {"weight": "9", "max_waiting": "100"}),
        Use("/session/pause", _job("waiting"), "Pause the session 10 min", f"SELECT until > now() + '9 min' {OF_SESSION}"),
        Use("/session/pause", _job("waiting"), "Until resumed", f"SELECT until = 'infinity' {OF_SESSION}"),
        Use("/session/resume", _job("waiting"), "Resume the session", f"SELECT count(*) = 0 {OF_SESSION}",
            before="SELECT turnstile.pause_session(%(mail)s, %(acme)s, %(thread)s)"),
        Use("/batch/pause", _batch, "Pause", f"SELECT paused {OF_BATCH}"),
        Use("/batch/resume", _batch, "Resume", f"SELECT NOT paused {OF_BATCH}", before="SELECT turnstile.set_batch(%(batch)s, paused => true)"),
        Use("/batch/limits", _batch, "Change the limits", f"SELECT slots = 8 AND {HAS_RATE} AND max_failed = 3 {OF_BATCH}",
            {"slots": "8", "max_failed": "3"} | RATE),
        Use("/batch/limits", _batch, "Change the limits", f"SELECT slots IS NULL AND rate IS NULL {OF_BATCH}", {"slots": "", "rate": "", "burst": ""}),
        Use("/job/priority", _job("waiting"), "Set the priority", "SELECT priority = -5 FROM turnstile.job WHERE id = %(waiting)s", {"priority": "-5"}),
        Use("/job/retry", _job("discarded"), "Retry", state.replace("job)", "discarded)").format("available")),
        Use("/job/retry", _job("cancelled"), "Retry", state.replace("job)", "cancelled)").format("available")),
        Use("/job/retry", _job("completed"), "Run again", state.replace("job)", "completed)").format("available")),
        Use("/job/retry", _job("retryable"), "Retry now", state.replace("job)", "retryable)").format("available")),
        Use("/job/retry", _job("scheduled"), "Run now", state.replace("job)", "scheduled)").format("available")),
        Use("/job/cancel", _job("running"), "Ask it to stop", "SELECT cancel_requested_at IS NOT NULL FROM turnstile.job WHERE id = %(running)s"),
        Use("/job/cancel", _job("waiting elsewhere"), "Cancel", state.replace("job)", "waiting elsewhere)").format("cancelled")),
        Use("/job/discard", _job("blocked"), "Discard", state.replace("job)", "blocked)").format("discarded")),
    ]  # fmt: skip


USES = _uses()
# Tried in tests of their own.
OF_MANY = {"/jobs/retry", "/jobs/cancel", "/jobs/discard", "/change/stop"}


def test_each_lever_is_tried():
    assert {use.lever for use in USES} | OF_MANY == set(levers())


@pytest.fixture(scope="module", params=[True, False], ids=["", "without JavaScript"])
def script(request):
    return request.param


@pytest.fixture(scope="module")
def of_own(guarded, script):
    """A world for each way, since the levers change it."""
    with fresh_database() as database:
        yield populate(database.connect())


@pytest.fixture(scope="module")
def shown(of_own, dashboard):
    return dashboard("--allow-writes", place=f"dbname={of_own.conn.info.dbname}")


@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.lever} {use.button}")
def test_a_lever_does_what_it_says(of_own, shown, look_at, script, use):
    arguments = of_own.names | of_own.jobs
    _is_at_rest(of_own)
    of_own.conn.execute(use.before, arguments)
    viewer = look_at(shown, java_script_enabled=script)
    page = viewer.open(use.page(of_own))
    if not script:
        _is_fresh(page, use)
    pull(page, use.lever, use.button, use.typed)
    # It is on the page that shows what came of it, which says so.
    expect(page.locator(".notice")).to_be_visible()
    assert of_own.conn.execute(use.then, arguments).fetchone() == (True,)
    if script:
        viewer.is_content()
    assert viewer.complaints == []


def _is_fresh(page: Page, use: Use) -> None:
    """What was read is shown for a second, and no script brings what is newer."""
    if not page.locator(f"main form[action$='{use.lever}']").get_by_role("button", name=use.button, exact=True).count():
        page.wait_for_timeout(1_100)
        page.reload()


def _is_at_rest(world: World) -> None:
    """Nothing is paused that another test has paused."""
    for function, names in {
        "resume_queue": {"name": world.mail},
        "resume_tenant": {"name": world.acme},
        "resume_account": {"tenant": world.acme, "name": world.main},
        "resume_concurrency": {"key": world.printer},
        "resume_session": {"queue": world.mail, "tenant": world.acme, "session": world.thread},
    }.items():
        call(world.conn, function, **names)
    call(world.conn, "set_batch", id=world.jobs["batch"], paused=False)


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
