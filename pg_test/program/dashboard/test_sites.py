"""What keeps other sites out: posts that come from elsewhere, names that lead here from elsewhere, and what pages may do."""

import itertools
import json

import pytest

from support.dashboard import ROLE, SAME_ORIGIN, basic, levers, pages, refused
from support.dashboard_world import FIELDS, changes, everything, parameters
from support.program import USAGE

NOWHERE = "host=127.0.0.1 port=1 dbname=none user=none"
FOREIGN = "does not come from a page of this dashboard"
# As browsers send it, and as none does.
SITES = [None, "same-origin", "same-site", "cross-site", "none", "", "Same-Origin", "same-origin, same-origin", ["same-origin", "cross-site"]]
ORIGINS = {
    "absent": None,
    "equal": "{scheme}://{host}",
    "of another port": "{scheme}://127.0.0.1:1",
    "of another host": "{scheme}://evil.example",
    "of a host that begins so": "{scheme}://{host}.evil.example",
    "of a host that ends so": "{scheme}://evil.{host}",
    "opaque": "null",
    "empty": "",
    "of a file": "file://",
    "both": ["{scheme}://{host}", "{scheme}://evil.example"],
}
HARMFUL = [
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "same-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": None, "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": None, "Origin": "null"},
    {"Sec-Fetch-Site": None},
]
EXPECTED = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
THESE = ["localhost", "LOCALHOST:{port}", "127.0.0.1", "127.0.0.2:8080", "[::1]:{port}", "Queue.Example", "queue.example:99"]
OTHERS = [
    "evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1:{port}", "0.0.0.0:{port}",
    "[::]", "[::ffff:127.0.0.1]", "a@localhost", "localhost@evil.example", "localhost/..", "local host", "", "xn--localhost",
    "queue.example.evil", "2130706433", "0x7f.1",
]  # fmt: skip


@pytest.fixture(scope="module")
def lost(dashboard):
    """It has no server to ask: what it asks for is answered with 503."""
    return dashboard("--allow-writes", place=NOWHERE)


def _filled(text, viewed):
    if isinstance(text, list):
        return [_filled(each, viewed) for each in text]
    return text and text.format(scheme=viewed.scheme, host=f"127.0.0.1:{viewed.port}", port=viewed.port)


@pytest.mark.parametrize("site, origin", list(itertools.product(SITES, ORIGINS)))
def test_posts_come_from_a_page_of_this_dashboard(lost, site, origin):
    """Others are refused before the server is asked for anything."""
    answer = lost.post("/queue/pause", {"name": "mail"}, {"Sec-Fetch-Site": site, "Origin": _filled(ORIGINS[origin], lost)})
    is_from_here = site == "same-origin" or (site is None and origin == "equal")
    assert answer.status == (503 if is_from_here else 403), (site, origin, answer.text)
    assert (FOREIGN in answer.text) == (not is_from_here)


def test_a_post_behind_a_proxy_that_changes_the_name(dashboard):
    """The browser says that it is of the same origin, whatever becomes of Host; without that the proxy has to keep Host."""
    viewed = dashboard("--allow-writes", "--role-header", ROLE, place=NOWHERE)
    outside = {"Origin": "https://queue.example", ROLE: "ann"}
    for headers, status in [
        (outside | {"Host": "10.0.0.1:8080"}, 503),
        (outside | {"Host": "10.0.0.1:8080", "Sec-Fetch-Site": None}, 403),
        (outside | {"Host": "queue.example", "Sec-Fetch-Site": None}, 503),
        (outside | {"Host": "queue.example", "X-Forwarded-Host": "queue.example", "Sec-Fetch-Site": "cross-site"}, 403),
    ]:
        assert viewed.post("/queue/pause", {"name": "mail"}, headers).status == status, headers


def test_no_lever_takes_a_post_from_elsewhere(world, dashboard):
    viewed = dashboard("--allow-writes")
    for path in levers():
        fields = FIELDS[path](world)
        before = everything(world.conn)
        for headers in HARMFUL:
            answer = viewed.post(path, fields, headers)
            assert (answer.status, FOREIGN in answer.text) == (403, True), (path, headers)
        # Neither is one that hides in the query, or has another method.
        assert viewed.get(path, fields, headers=SAME_ORIGIN).status == 405
        assert changes(before, everything(world.conn)) == {}, path


@pytest.mark.parametrize("login", [["--basic"], ["--role-header", ROLE]])
def test_a_post_from_elsewhere_is_refused_before_the_login(dashboard, login):
    viewed = dashboard("--allow-writes", *login, place=NOWHERE)
    for who in ({}, basic("ann"), {ROLE: "ann"}):
        for headers in HARMFUL:
            assert viewed.post("/queue/pause", {"name": "mail"}, headers | who).status == 403


def test_without_a_login_the_name_has_to_be_known(dashboard):
    """A page of another site could have its name lead to this machine, and read all."""
    viewed = dashboard("--allow-writes", "--host", "queue.example", place=NOWHERE)
    paths = [("GET", path) for path in [*pages(), "/metrics"]] + [("POST", path) for path in levers()]
    for method, path in paths:
        for host, status in [*((host, 503) for host in THESE), *((host, 421) for host in OTHERS)]:
            host = _filled(host, viewed)
            answer = viewed.ask(method, path, headers={"Host": host} | SAME_ORIGIN)
            assert answer.status == status or (status == 421 and answer.status == 400), (method, path, host, answer.text)
        if method == "GET":
            assert viewed.ask(method, path, headers={"Host": None}).status in (400, 421), path


@pytest.mark.parametrize("header", ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP"])
def test_without_a_login_no_proxy_leads_here(dashboard, lost, header):
    for method, path in (("GET", "/"), ("GET", "/metrics"), ("POST", "/queue/pause")):
        assert lost.ask(method, path, headers=SAME_ORIGIN | {header: "x"}).status == 421


def test_with_a_login_any_name_will_do(dashboard):
    for login in (["--basic"], ["--role-header", ROLE]):
        viewed = dashboard(*login, place=NOWHERE)
        assert viewed.get("/", headers={"Host": "queue.example", "X-Forwarded-For": "1"}).status == 401


def test_all_answers_say_what_pages_may_do(world, dashboard):
    viewed = dashboard()
    asked = [("GET", path, parameters(world, path)) for path in pages()] + [("POST", path, {}) for path in levers()]
    asked += [("GET", path, {}) for path in ("/metrics", "/static/style.css", "/static/script.js", "/static/favicon.svg", "/queue/pause")]
    asked += [("GET", "/job", {"id": "x"}), ("GET", "/job", {"id": 10**15}), ("DELETE", "/", {})]
    for method, path, given in asked:
        answer = viewed.get(path, given) if method == "GET" else viewed.ask(method, path)
        found = {name: answer.headers[name] for name in EXPECTED}
        assert found == EXPECTED, (method, path, answer.status)
        assert not [name for name in answer.headers if name.lower().startswith("access-control") or name.lower() == "set-cookie"]
        expected = "public, max-age=31536000, immutable" if path.startswith("/static/") else "no-store"
        assert answer.headers["Cache-Control"] == expected, path
    nothing = viewed.ask("GET", "/nothing", headers={"Accept": "text/html"})
    assert (nothing.status, nothing.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert {name: nothing.headers[name] for name in EXPECTED} == EXPECTED


@pytest.mark.parametrize(
    "arguments",
    [
        ["--listen", "0.0.0.0:0"],
        ["--listen", "[::]:0"],
        ["--listen", "0.0.0.0:0", "--allow-writes"],
        ["--listen", "0.0.0.0:0", "--host", "queue.example"],
        ["--listen", "0.0.0.0:0", "--basic"],
        ["--listen", "[::]:0", "--basic", "--allow-writes"],
        ["--basic", "--role-header", ROLE],
        ["--role-header", "not a header"],
        ["--role-header", ""],
        ["--base-path", "queue"],
        ["--base-path", "/../x"],
        ["--certificate", "server.crt"],
    ],
)
def test_it_does_not_start_open_to_all(module_db, arguments):
    done = refused(module_db.name, "--listen", "127.0.0.1:0", *arguments) if "--listen" not in arguments else refused(module_db.name, *arguments)
    assert (done.returncode, done.stdout) == (USAGE, ""), done
    assert "listens" not in done.stderr


def test_it_does_not_start_with_tls_that_it_cannot_have(module_db, certificates, tmp_path):
    key = tmp_path / "key"
    key.write_text(open(certificates.file("server.key")).read())
    key.chmod(0o644)
    for certificate, secret in [("server.crt", str(key)), ("server.crt", certificates.file("other.key")), ("nowhere", certificates.file("server.key"))]:
        tls = ["--certificate", certificates.file(certificate), "--key", secret]
        done = refused(module_db.name, "--listen", "0.0.0.0:0", "--basic", *tls)
        assert (done.returncode, "cannot be used" in done.stderr) == (USAGE, True), done


def test_a_health_check_needs_no_login(dashboard):
    for login in (["--basic"], ["--role-header", ROLE], []):
        viewed = dashboard(*login, place=NOWHERE)
        assert viewed.get("/healthz").text == "ok\n"
        ready = viewed.get("/readyz")
        assert (ready.status, json.loads(ready.text)["status"]) == (503, 503)
