"""A person's walk in a browser, with a picture of each step in target/walk: find the noisy tenant, see why a job waits, lower a limit, retry
10,000 failed ones and watch, follow a batch to its end."""

import re
import time

import pytest
from playwright.sync_api import expect

from support.calls import call
from support.dashboard_scene import FAILED, NOISY, OUTAGE, playing
from support.database import fresh_database
from support.sleepers import until
from support.system import ROOT

PICTURES = ROOT / "target" / "walk"
# So long the company's jobs come and go before somebody looks.
BEFORE = 70
# More than two workers, who do twelve a second, end while somebody looks.
CHILDREN = 4_000

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def scene(guarded):
    with fresh_database() as database, playing(database) as played:
        played.before()
        played.start()
        played.begin_batch(children=CHILDREN, slots=6)
        yield played


@pytest.fixture
def steps(scene, dashboard, look_at):
    """A person with a browser, who takes a picture of each step."""
    shown = dashboard("--allow-writes", place=f"dbname={scene.database.name}")
    time.sleep(BEFORE)
    viewer = look_at(shown)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for old in PICTURES.glob("*.png"):
        old.unlink()

    def step(words: str) -> None:
        number = len(list(PICTURES.glob("*.png"))) + 1
        viewer.page.screenshot(path=PICTURES / f"{number:02d}-{words.replace(' ', '-')}.png", full_page=True)
        viewer.is_content()
        viewer.is_within()

    viewer.step = step
    return viewer


def _follow(page, link) -> None:
    with page.expect_navigation():
        link.click()


def test_the_walk(scene, steps):
    page, conn = steps.open("/"), scene.conn
    expect(page.locator("#live .live-state")).to_have_text("Live")
    steps.step("overview")

    # The noisy tenant comes first.
    _follow(page, page.get_by_role("link", name="Tenants", exact=True))
    assert page.locator("main table tbody tr").first.inner_text().startswith(NOISY)
    steps.step("tenants")
    _follow(page, page.locator("main table tbody tr").first.get_by_role("link", name=NOISY, exact=True))
    assert NOISY in page.locator("h1").inner_text()
    steps.step("noisy tenant")

    # Why does one of its jobs wait?
    _follow(page, page.locator(f"main a[href*='/jobs?'][href*='{NOISY}'][href*='available']").first)
    steps.step("its waiting jobs")
    _follow(page, page.locator("main table tbody tr").last.locator("a[href*='/job?']").first)
    words = page.locator("main").inner_text()
    assert "Why it waits" in words and re.search(r"slots? are|no free slot|others? come|before it|next", words), words
    steps.step("why a job waits")

    # Less for it, more for others.
    _follow(page, page.locator(f"main a[href*='/tenant?name={NOISY}']").first)
    for folded in page.locator("main details:not([open])").all():
        if folded.locator("form[action$='/tenant/limits']").count():
            folded.locator("summary").first.click()
    limits = page.locator("form[action$='/tenant/limits']")
    limits.locator("[name=slots]").fill("2")
    limits.scroll_into_view_if_needed()
    steps.step("a lower limit")
    _follow(page, limits.get_by_role("button"))
    expect(page.locator(".notice")).to_be_visible()
    assert conn.execute("SELECT slots FROM turnstile.tenant WHERE name = %s", [NOISY]).fetchone() == (2,)
    until(lambda: conn.execute("SELECT running FROM turnstile.tenants WHERE name = %s", [NOISY]).fetchone()[0] <= 2, "it has no more")
    expect(page.locator("main")).to_contain_text("of 2 slots")
    steps.step("the limit is in force")

    # What failed, all of it, and once more.
    _follow(page, page.get_by_role("link", name="Failures", exact=True))
    first_line = OUTAGE.splitlines()[0]
    group = page.locator("main tr", has_text=first_line)
    expect(group.first).to_be_visible()
    steps.step("failures by kind and error")
    _follow(page, group.first.locator("a[href*='/jobs?']").first)
    steps.step("those that failed")
    _follow(page, page.get_by_role("link", name=re.compile("^Retry")).first)
    assert re.search(r"10.?000", page.locator("main").inner_text())
    steps.step("what a retry would do")
    _follow(page, page.locator("form[action$='/jobs/retry']").get_by_role("button"))
    steps.step("the retry has begun")
    expect(page.locator("main .badge.large")).to_contain_text("done", timeout=60_000)
    steps.step("the retry is done")
    brought_back = "SELECT count(*) FROM turnstile.job_history WHERE kind = 'send_email' AND state = 'discarded'"
    assert conn.execute(brought_back).fetchone()[0] >= FAILED
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE kind = 'send_email'").fetchone()[0] > FAILED * 0.9

    # A batch, to its end.
    _follow(page, page.get_by_role("link", name="Batches", exact=True))
    steps.step("batches")
    _follow(page, page.locator(f"main a[href*='/batch?id={scene.batch}']").first)
    steps.step("a batch goes on")
    limits = page.locator("form[action$='/batch/limits']")
    limits.locator("[name=slots]").fill("20")
    _follow(page, limits.get_by_role("button"))
    expect(page.locator(".notice")).to_be_visible()
    steps.step("the batch has more slots")
    _finish(scene)
    expect(page.locator("main .badge.large").first).to_contain_text("completed", timeout=60_000)
    steps.step("the batch has ended")


def _finish(scene) -> None:
    """Workers that have nothing else to do take what is left of the batch."""
    conn = scene.database.connect()

    def is_over() -> bool:
        for job in call(conn, "claim", queues=["billing"], max_jobs=50, worker="billing-night"):
            call(conn, "complete", job_id=job.id, attempt=job.attempt)
        state = "SELECT state::text FROM turnstile.jobs WHERE id = %s"
        return conn.execute(state, [scene.batch]).fetchone() == ("completed",)

    until(is_over, "the batch ends")
