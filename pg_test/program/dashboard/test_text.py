"""Text stays text: whatever things are called, and whatever jobs hold, becomes no element, no attribute and no script."""

import json

import pytest

from support.browser import NARROW
from support.calls import call, claim_next, enqueue, fail
from support.dashboard import pages, with_parameters
from support.dashboard_world import PLAIN, parameters, populate
from support.database import fresh_database
from support.markup import Page, parameters as parameters_of
from support.sleepers import until

SCRIPT = "<script>window.taken = true; alert(1)</script>"
HOSTILE = {
    "mail": f'">{SCRIPT}',
    "bulk": "'; alert(1); //`${alert(1)}`",
    "acme": "</script></title></textarea></svg><img src=x onerror=alert(1)>",
    "globex": "javascript:alert(1)",
    "main": "&lt;b&gt; &amp; &#60;i&#62; & <b>",
    "thread": "\u202eright to left\u202c \u2066 <bdo dir=rtl>",
    "printer": '{{7*7}} <svg onload=alert(1)> x" onmouseover="alert(1)',
    "letter": f"<!-- --!> <![CDATA[ {SCRIPT}",
    "worker": "--><!--<script>\\u003cscript\\u003e",
    "nightly": "<a href=\"javascript:alert(1)\" style='position:fixed;inset:0'>x</a>",
    "unique": "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
}
PAYLOAD = {
    "<img src=x onerror=alert(1)>": [f"</details></pre>{SCRIPT}", "\u202e\u2028\u2029", {"": "</code><!--"}],
    "__proto__": "javascript:alert(1)",
    "numbers": 1,
}
ERROR = f"{SCRIPT}\n<b>second</b> line\r\n\tat \"x\" 'y' `z` \u202e\x1b[31m"
# Others than these have a name of their own, too.
NAMES = [
    "..", ".", "a/b", "../../x", "?x=1", "#x", "%2e", "%", "a b", " a ", "+", "&name=other", "a=b", "é", "ü\u0308", "日本語", "\u202ex", "\\", '"', "'",
    "<b>", "null", "0", "-1", "true", "a" * 255, "é" * 127, "🐘" * 63, "a,b;c", "{a}", "[0]", "name", "\ttab",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(guarded):
    with fresh_database() as database:
        world = populate(database.connect(), **HOSTILE)
        enqueue(world.conn, "payload", payload=PAYLOAD, metadata=PAYLOAD, queue="contents")
        job = claim_next(world.conn, "contents")
        call(world.conn, "progress", job_id=job.id, attempt=job.attempt, done=1, message=ERROR)
        fail(world.conn, job, error=ERROR, discard=True)
        world.jobs["contents"] = job.id
        yield world


@pytest.fixture(scope="module")
def shown(hostile, dashboard):
    return dashboard("--allow-writes", place=f"dbname={hostile.conn.info.dbname}")


def _places(world, shown) -> list[str]:
    """All that names and contents are on."""
    found = [with_parameters(path, {"q": name}) for path in ("/queues", "/tenants", "/keys") for name in HOSTILE.values()]
    found += [with_parameters("/jobs/change", {"deed": deed, "kind": world.letter}) for deed in ("cancel", "discard", SCRIPT)]
    return found + _pages(world, shown)


def _pages(world, shown) -> list[str]:
    begun = shown.post("/jobs/cancel", {"kind": world.letter, "tenant": world.acme, "session": "none"})
    found = [with_parameters(path, parameters(world, path)) for path in pages() if path != "/change"]
    found += [begun.headers["Location"]]
    found += [with_parameters("/job", {"id": job}) for job in world.jobs.values()]
    filters = {"queue": world.mail, "kind": world.letter, "tenant": world.acme, "account": world.main, "session": world.thread}
    found += [with_parameters("/jobs", {name: value}) for name, value in filters.items()]
    found += [with_parameters("/jobs", filters | {"payload": json.dumps(PAYLOAD)})]
    return found


def test_names_and_contents_become_no_markup(hostile, shown):
    said = set()
    for place in _places(hostile, shown):
        answer = shown.get(place)
        assert answer.status < 500, place
        page = Page(answer.text)
        page.is_plain()
        assert page.mistakes == [], place
        said |= page.texts()
    for name, text in HOSTILE.items():
        # A unique key is shown nowhere, or as what it is.
        assert text in said or name == "unique", (name, text)


def test_what_is_wrong_is_told_as_text(hostile, shown):
    """Errors repeat what they were given."""
    given = [("GET", path, {name: SCRIPT}) for path in pages() for name in ("id", "name", "q", "older", "parent", "payload", "number", "deed", "done", "before")]
    given += [("POST", "/queue/limits", {"name": HOSTILE["mail"], "max_running": SCRIPT}), ("POST", "/job/retry", {"id": SCRIPT})]
    given += [("POST", "/queue/limits", {"name": HOSTILE["mail"], "rate": "1", "rate_per": SCRIPT}), ("POST", "/queue/pause", {SCRIPT: SCRIPT})]
    for method, path, fields in given:
        answer = shown.get(path, fields) if method == "GET" else shown.post(path, fields)
        assert answer.status < 500, (path, fields)
        Page(answer.text).is_plain()
        assert SCRIPT not in answer.text, (path, fields)


def test_a_page_has_the_same_shape_whatever_things_are_called(hostile, shown, world, dashboard):
    plain = dashboard("--allow-writes")
    # Those with charts differ by what has been read so far.
    for path in ("/job", "/batch", "/recurring"):
        shapes = [_shape(viewed.get(path, parameters(of, path)).text) for viewed, of in ((plain, world), (shown, hostile))]
        assert shapes[0] == shapes[1], path


def _shape(text: str) -> list:
    """What is cut for its length has all of it as its title."""
    return [(name, tuple(each for each in attributes if each != "title")) for name, attributes in Page(text).shape()]


def test_no_script_of_a_name_runs(hostile, shown, look_at):
    viewer = look_at(shown, viewport=NARROW)
    for place in _pages(hostile, shown):
        page = viewer.open(place)
        assert page.evaluate("window.taken") is None, place
        assert page.locator("main img, main iframe, main script, main svg[onload]").count() == 0, place
        # What turns the direction of text does so for itself alone.
        assert page.evaluate(TURNED) == [], place
        viewer.is_within()
        viewer.is_content()


TURNED = r"""
[...document.querySelectorAll('body *')].flatMap((element) => [...element.childNodes])
  .filter((node) => node.nodeType === 3 && /[\u202a-\u202e\u2066-\u2069]/.test(node.data))
  .filter((node) => {
    for (let at = node.parentElement; at !== null; at = at.parentElement) {
      if (/isolate|plaintext/.test(getComputedStyle(at).unicodeBidi) || ['PRE', 'OPTION', 'TITLE', 'TEXTAREA'].includes(at.tagName)) return false;
    }
    return true;
  })
  .map((node) => node.parentElement.outerHTML)
"""


def test_live_parts_bring_no_script(hostile, shown, look_at):
    viewer = look_at(shown)
    page = viewer.open("/queues")
    page.locator("#live .live-state", has_text="Live").wait_for()
    for number in range(3):
        enqueue(hostile.conn, hostile.letter, queue=f"{number} {SCRIPT} <img src=x onerror=alert(1)>")
    page.get_by_text(f"2 {SCRIPT[:20]}", exact=False).first.wait_for()
    assert page.locator("main img, main script").count() == 0
    viewer.is_content()


# ---- Names that mean something in a URL -----------------------------------------------------------


@pytest.fixture(scope="module")
def named(guarded):
    """Jobs whose names are all the same, by the name."""
    with fresh_database() as database:
        conn = database.connect()
        jobs = {}
        for name in NAMES:
            where = dict.fromkeys(("queue", "tenant", "account", "session", "concurrency_key"), name)
            jobs[name] = enqueue(conn, name, **where)
        yield conn, jobs


@pytest.fixture(scope="module")
def shown_named(named, dashboard):
    return dashboard("--allow-writes", place=f"dbname={named[0].info.dbname}")


def _links(page: Page) -> list[tuple[str, dict]]:
    """Where links lead, as path and parameters."""
    return [(link.split("?")[0], parameters_of(link)) for name, _, link in page.links() if name == "a"]


@pytest.mark.parametrize("path, one", [("/queues", "/queue"), ("/tenants", "/tenant"), ("/keys", "/keys")])
def test_lists_lead_to_each_thing(named, shown_named, path, one):
    _, jobs = named
    listed = {given.get("name") for place, given in _links(Page(shown_named.get(path).text)) if place == one}
    assert set(jobs) <= listed
    for name in jobs:
        answer = shown_named.get(one, {"name": name})
        page = Page(answer.text)
        assert answer.status == 200 and any(name.strip() in text for text in page.texts()), name
        of_it = {dict(form["fields"]).get("name", dict(form["fields"]).get("key")) for form in page.forms() if form["method"] == "post"}
        assert of_it == {name}, name


@pytest.mark.parametrize("name", NAMES)
def test_links_and_levers_of_a_job_mean_its_own_names(named, shown_named, name):
    conn, jobs = named
    job = jobs[name]
    page = Page(shown_named.get("/job", {"id": job}).text)
    for place in ("/queue", "/tenant", "/keys"):
        assert name in {given.get("name") for path, given in _links(page) if path == place}, place
    for form in page.forms():
        if form["action"] == "/session/pause":
            fields = dict(form["fields"])
            assert (fields["queue"], fields["tenant"], fields["session"]) == (name, name, name)
            assert shown_named.post("/session/pause", fields).status == 303
    paused = "SELECT count(*) FROM turnstile.paused_session WHERE queue = %s AND tenant = %s AND session = %s"
    assert conn.execute(paused, [name] * 3).fetchone() == (1,)
    for filter_by in ("queue", "kind", "tenant", "account", "session"):
        found = _links(Page(shown_named.get("/jobs", {filter_by: name}).text))
        assert [given["id"] for path, given in found if path == "/job"] == [str(job)], filter_by
    moved = shown_named.post("/queue/pause", {"name": name, "seconds": "600"})
    assert parameters_of(moved.headers["Location"])["name"] == name
    assert "done=paused" in moved.headers["Location"]
    until(lambda: "Paused" in shown_named.get(moved.headers["Location"]).text, "it says so")


def test_no_name_is_forgotten():
    assert set(HOSTILE) == set(PLAIN)
