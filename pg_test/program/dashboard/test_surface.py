"""What else the program answers, and below which path: metrics, checks of health, jobs by HTTP, --base-path."""

import json
import threading
from urllib.parse import urlsplit

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from support.dashboard import ROLE, SAME_ORIGIN, basic, levers, pages
from support.dashboard_world import FIELDS, everything, parameters
from support.markup import Page
from support.serve import Serve, hashed, token_of
from support.sleepers import until

MEDIA_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
METRICS = "SELECT name, type, help, labels, value FROM turnstile.metrics"
# They go on with time.
MOVING = ("age", "seconds", "per_minute", "bytes", "lag")
MOST_PAGES = 150


def test_metrics_are_those_of_the_view(world, dashboard):
    viewed = dashboard()
    answer = viewed.get("/metrics")
    assert (answer.status, answer.headers["Content-Type"]) == (200, MEDIA_TYPE)
    samples = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in samples
            samples[key] = (family.type, family.documentation, sample.value)
    rows = world.conn.execute(METRICS).fetchall()
    expected = {(name, tuple(sorted((labels or {}).items()))): (kind, text, value) for name, kind, text, labels, value in rows}
    assert set(samples) == set(expected) and len(expected) == len(rows)
    for key, (kind, text, value) in expected.items():
        assert samples[key][:2] == (kind, text), key
        if not any(word in key[0] for word in MOVING):
            assert samples[key][2] == (value if value is not None else pytest.approx(float("nan"), nan_ok=True)), key


def test_metrics_have_any_name(dashboard, module_db):
    """Labels are quoted as the format has it."""
    conn = module_db.connect()
    name = 'quoted "\\ \n é </script> {} #'
    conn.execute("SELECT turnstile.enqueue('any', queue => %s)", [name])
    families = text_string_to_metric_families(dashboard().get("/metrics").text)
    assert any(sample.labels.get("queue") == name for family in families for sample in family.samples)


def test_metrics_are_for_who_may_read_figures(viewers, dashboard):
    viewed = dashboard("--role-header", ROLE, place=viewers.place(viewers.gate))
    for kind in ("monitor", "operator", "superuser"):
        assert viewed.get("/metrics", headers={ROLE: viewers.name(kind)}).status == 200
    for kind in ("tenant", "worker", "nobody"):
        assert viewed.get("/metrics", headers={ROLE: viewers.name(kind)}).status == 403


def test_a_scraper_logs_in_as_others_do(viewers, dashboard):
    viewed = dashboard("--basic", place=viewers.nowhere)
    assert viewed.get("/metrics").status == 401
    assert viewed.get("/metrics", headers=basic(viewers.name("monitor"))).status == 200


def test_health_is_told_without_a_login(dashboard, viewers):
    viewed = dashboard("--role-header", ROLE, place=viewers.place(viewers.gate))
    assert [viewed.get(path).text for path in ("/healthz", "/readyz")] == ["ok\n", "ready\n"]


# ---- Beside jobs by HTTP --------------------------------------------------------------------------


@pytest.fixture
def tokens(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"postgres {hashed(token_of('postgres'))}\n")
    file.chmod(0o600)
    return file


def _adds(viewed, path: str = "/v1/jobs/any"):
    bearer = {"Authorization": f"Bearer {token_of('postgres')}", "Content-Type": "application/json"}
    return viewed.ask("POST", path, b"{}", bearer)


def test_jobs_are_taken_beside_the_dashboard(world, dashboard, tokens):
    for more in (["--dashboard"], ["--basic"], ["--role-header", ROLE], ["--dashboard", "--base-path", "/q"]):
        viewed = dashboard("--tokens", tokens, *more)
        base = "/q" if "/q" in more else ""
        added = _adds(viewed, f"{base}/v1/jobs/any")
        assert added.status == 201, added.text
        job = json.loads(added.text)["id"]
        assert world.conn.execute("SELECT kind FROM turnstile.job WHERE id = %s", [job]).fetchone() == ("any",)
        # A token is no login of a viewer, and a login of a viewer is no token.
        bearer = {"Authorization": f"Bearer {token_of('postgres')}"}
        assert viewed.get(f"{base}/jobs", headers=bearer).status == (200 if "--dashboard" in more else 401)
        assert viewed.ask("POST", f"{base}/v1/jobs/any", b"{}", basic("postgres") | {ROLE: "postgres"}).status == 401
        assert viewed.get(f"{base}/v1/openapi.json").status == 200


def test_with_tokens_alone_there_is_no_dashboard(module_db, tmp_path):
    """What takes jobs is often behind a proxy that leads all the world to it."""
    served = Serve(module_db.name, tmp_path, ["postgres"])
    try:
        assert served.post("/v1/jobs/any", {}, role="postgres").status == 201
        for method, path in [*(("GET", path) for path in [*pages(), "/metrics", "/static/style.css"]), *(("POST", path) for path in levers())]:
            assert served.ask(method, path, headers=SAME_ORIGIN).status == 404, path
    finally:
        served.terminate()
        assert served.ended()[0] == 0


def test_without_tokens_no_job_is_taken(world, dashboard):
    viewed = dashboard("--allow-writes")
    before = everything(world.conn)
    for method, path in (("POST", "/v1/jobs/any"), ("POST", "/v1/jobs"), ("GET", "/v1/jobs/1"), ("DELETE", f"/v1/jobs/{world.jobs['waiting']}")):
        assert viewed.ask(method, path, b"{}").status == 404
    assert everything(world.conn) == before


# ---- Below a path ---------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["/q", *(pytest.param(base, marks=pytest.mark.long) for base in ("", "/deep/er.path"))])
def test_all_links_lead_somewhere_below_the_base(world, dashboard, base):
    """From the first page to all that can be reached: pages, files, the places of forms and live parts."""
    viewed = dashboard("--allow-writes", *(["--base-path", base] if base else []))
    begin = [f"{base}/", *(f"{base}{path}" for path in pages())]
    waiting, seen, acts = list(begin), set(begin), set()
    while waiting:
        place = waiting.pop(0)
        answer = viewed.get(place)
        # Some of the first ask for a name.
        assert answer.status == 200 or (place in begin and answer.status in (400, 404)), (place, answer.status, answer.text)
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        page = Page(answer.text)
        page.is_plain()
        assert page.mistakes == [], place
        for name, attribute, link in page.links():
            target = link.split("#")[0]
            if not target:
                assert f'id="{link[1:]}"' in answer.text, (place, link)
                continue
            assert urlsplit(target).path.startswith(f"{base}/") or urlsplit(target).path == base, (place, name, attribute, link)
            if (name, attribute) == ("form", "action"):
                acts.add(urlsplit(target).path.removeprefix(base))
            elif target not in seen and len(seen) < MOST_PAGES:
                seen.add(target)
                waiting.append(target)
    assert acts <= set(levers()) | set(pages())


def test_levers_lead_back_below_the_base(world, dashboard):
    viewed = dashboard("--allow-writes", "--base-path", "/q")
    for path in levers():
        if path == "/change/stop":
            continue
        answer = viewed.post(f"/q{path}", FIELDS[path](world))
        assert (answer.status, answer.headers["Location"].startswith("/q/")) == (303, True), path
        assert viewed.get(answer.headers["Location"]).status == 200
        # Without the base there is nothing.
        assert viewed.post(path, {}).status == 404


def test_the_base_itself_is_the_first_page(dashboard):
    viewed = dashboard("--base-path", "/q")
    moved = viewed.get("/q", {"a": "b"})
    assert (moved.status, moved.headers["Location"]) == (308, "/q/?a=b")
    assert viewed.get("/q/").status == 200
    for path in ("/", "/qq", "/q2/", "/Q/", "/q/q/", "/q//"):
        assert viewed.get(path).status == 404, path


def test_live_parts_are_below_the_base(world, dashboard):
    viewed = dashboard("--base-path", "/q")
    for path in pages():
        answer = viewed.get(f"/q{path}", parameters(world, path))
        if answer.status != 200:
            continue
        body = next(attributes for name, attributes, _ in Page(answer.text).elements() if name == "body")
        if url := body.get("data-live-url"):
            event = viewed.first_event(url)
            assert (event.status, event.headers["Content-Type"]) == (200, "text/event-stream"), path


def test_it_ends_while_pages_are_live(world, dashboard):
    viewed = dashboard()
    connection = viewed.connect()
    connection.request("GET", "/", headers={"Accept": "text/event-stream"})
    response = connection.getresponse()
    ended = threading.Event()

    def read():
        while response.readline():
            pass
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    viewed.terminate()
    assert viewed.ended()[0] == 0
    until(ended.is_set, "the stream ends")
