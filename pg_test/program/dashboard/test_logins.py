"""Who a viewer is: by a password of the database, or by the header of a proxy."""

import http.client
import secrets
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import sql

from support.dashboard import PASSWORD, ROLE, SAME_ORIGIN, basic, levers, pages
from support.sleepers import until

REALM = 'Basic realm="turnstile", charset="UTF-8"'
MALFORMED = [None, "", "Basic", "Basic !", "Bearer YTpi", "Basic YQ==", "Basic Og==", "Basic OnB3", "Basic YQBiOmM=", "Basic /w==", "Digest x"]
SESSIONS = "SELECT pid FROM pg_stat_activity WHERE usename = %s"


@pytest.fixture(scope="module")
def asked(dashboard, viewers):
    """It asks for a password."""
    return dashboard("--basic", "--allow-writes", place=viewers.nowhere)


@pytest.fixture(scope="module")
def trusting(dashboard, viewers):
    """It trusts a proxy."""
    return dashboard("--role-header", ROLE, "--allow-writes", place=viewers.place(viewers.gate))


@pytest.fixture
def someone(module_db):
    """A role that may read figures, and that a test may do anything with."""
    name = f"someone {secrets.token_hex(4)} \"'é"
    conn = module_db.connect()
    words = {"role": sql.Identifier(name), "password": sql.Literal(PASSWORD)}
    conn.execute(sql.SQL("CREATE ROLE {role} LOGIN PASSWORD {password}").format(**words))
    conn.execute(sql.SQL("SELECT turnstile.allow_monitor({}::regrole)").format(sql.Literal(words["role"].as_string(conn))))
    yield name
    if conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone():
        conn.execute(sql.SQL("DROP OWNED BY {role}; DROP ROLE {role}").format(**words))


# ---- Passwords ------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", MALFORMED)
def test_without_a_password_nothing_is_shown(asked, header):
    for method, path in [*(("GET", path) for path in [*pages(), "/metrics"]), *(("POST", path) for path in levers())]:
        answer = asked.ask(method, path, headers=SAME_ORIGIN | {"Authorization": header})
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, REALM), (method, path)
    # What pages are made with says nothing of the database.
    assert asked.get("/static/style.css").status == 200


def test_the_server_decides_on_the_password(asked, viewers, guarded):
    name = viewers.name("monitor")
    assert asked.get("/queues", headers=basic(name)).status == 200
    wrong = [basic(name, "a wrong secret"), basic(name, ""), basic(name, PASSWORD + " "), basic(name, PASSWORD.upper())]
    wrong += [basic("no_such_role"), basic("postgres"), basic("postgres", "")]
    with ThreadPoolExecutor(4) as several:
        answers = list(several.map(lambda who: asked.get("/queues", headers=who), wrong))
    assert {(each.status, each.headers["WWW-Authenticate"]) for each in answers} == {(401, REALM)}
    # Whether there is such a role is not said.
    assert len({each.text for each in answers}) == 1
    # Nor does a wrong password find what the right one has read.
    assert asked.get("/queues", headers=basic(name)).status == 200
    assert asked.get("/queues", headers=wrong[0]).status == 401
    for log in (asked.stderr(), guarded.log):
        assert "a wrong secret" not in log and PASSWORD not in log and basic(name)["Authorization"] not in log
    assert "no_such_role" in asked.stderr()


def test_guessing_takes_long(asked, viewers):
    """Whoever is known already does not wait for it."""
    name = viewers.name("monitor")
    assert asked.get("/queues", headers=basic(name)).status == 200
    statuses = []
    guesses = [threading.Thread(target=lambda n=n: statuses.append(asked.get("/", headers=basic(name, f"guess {n}")).status)) for n in range(12)]
    began = time.monotonic()
    for guess in guesses:
        guess.start()
    time.sleep(0.2)
    assert asked.get("/queues", headers=basic(name)).status == 200
    assert time.monotonic() - began < 1
    for guess in guesses:
        guess.join()
    assert time.monotonic() - began > 1.9
    # Those that come while too many try are not tried at all.
    assert set(statuses) <= {401, 503} and statuses.count(401) <= 12


def test_a_login_that_is_taken_away_ends(asked, module_db, someone):
    """Sessions go on, as those of any program; once they are ended there are no others."""
    conn = module_db.connect()
    assert asked.get("/queues", headers=basic(someone)).status == 200
    conn.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(sql.Identifier(someone)))
    conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [someone])
    until(lambda: not conn.execute(SESSIONS, [someone]).fetchone(), "no session is left")
    # What was read is shown for a second, and the first that asks the server may find out that its connection has gone.
    until(lambda: asked.get("/queues", headers=basic(someone)).status == 401, "it is refused", asked.stderr)
    assert asked.get("/queues", headers=basic(someone)).status == 401


def test_a_name_may_be_any_text(asked, trusting, module_db, viewers, someone):
    conn = module_db.connect()
    conn.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(someone), sql.Identifier(viewers.gate)))
    for viewed, who in ((asked, basic(someone)), (trusting, {ROLE: someone.encode()})):
        answer = viewed.get("/queues", headers=who)
        assert answer.status == 200
        assert someone.replace('"', "&quot;") in answer.text


def test_logins_share_nothing(asked, viewers):
    """Whose page it is says the page, whoever else asks meanwhile."""
    kinds = ("monitor", "operator", "tenant", "superuser")
    seen = {kind: set() for kind in kinds}

    def look(kind: str) -> None:
        name = viewers.name(kind)
        for _ in range(25):
            text = asked.get("/", headers=basic(name)).text
            seen[kind].add(tuple(other for other in kinds if viewers.name(other) in text))

    threads = [threading.Thread(target=look, args=[kind]) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {kind: {(kind,)} for kind in kinds}


def test_passwords_go_by_tls(dashboard, viewers, certificates):
    tls = ["--certificate", certificates.file("server.crt"), "--key", certificates.file("server.key")]
    authority = certificates.file("authority.crt")
    viewed = dashboard("--basic", *tls, listen="0.0.0.0:0", place=viewers.nowhere, trusted=authority)
    name = viewers.name("monitor")
    assert viewed.scheme == "https"
    assert viewed.get("/queues", headers=basic(name)).status == 200
    assert viewed.get("/queues").status == 401
    # Who speaks no TLS is told nothing.
    plain = http.client.HTTPConnection("127.0.0.1", viewed.port, timeout=10)
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        plain.request("GET", "/", headers=basic(name))
        plain.getresponse()
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        viewed.context.minimum_version = viewed.context.maximum_version = version
        assert viewed.get("/queues", headers=basic(name)).status == 200
    other = ssl.create_default_context(cafile=certificates.file("other.crt"))
    with pytest.raises(ssl.SSLCertVerificationError):
        http.client.HTTPSConnection("localhost", viewed.port, context=other).connect()


# ---- The header of a proxy ------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["missing", "none", "empty", "twice", "both", "no text"])
def test_a_proxy_says_who_a_viewer_is(trusting, viewers, given):
    name = viewers.name("superuser")
    header = {"missing": None, "none": "none", "empty": "", "twice": [name, name], "both": [viewers.name("monitor"), name], "no text": b"\xff"}[given]
    for method, path in [*(("GET", path) for path in [*pages(), "/metrics"]), *(("POST", path) for path in levers())]:
        # A password means nothing here.
        answer = trusting.ask(method, path, headers=SAME_ORIGIN | basic(name) | {ROLE: header})
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, None), (method, path)


@pytest.mark.parametrize("name", ["postgres", "no_such_role", "pg_read_all_data", "NONE", '"', "a; RESET ROLE", "session_user"])
def test_the_program_must_be_a_member_of_the_role(trusting, name):
    for method, path in [*(("GET", path) for path in [*pages(), "/metrics"]), *(("POST", path) for path in levers())]:
        assert trusting.ask(method, path, headers=SAME_ORIGIN | {ROLE: name}).status == 403, (method, path)


def test_a_membership_that_ends_ends_at_once(trusting, module_db, viewers):
    conn = module_db.connect()
    name, gate = viewers.name("operator"), viewers.gate
    assert trusting.get("/jobs", headers={ROLE: name}).status == 200
    conn.execute(f"REVOKE {name} FROM {gate}")
    try:
        until(lambda: trusting.get("/jobs", headers={ROLE: name}).status == 403, "it is refused")
    finally:
        conn.execute(f"GRANT {name} TO {gate}")
    until(lambda: trusting.get("/jobs", headers={ROLE: name}).status == 200, "it is let in again")


def test_a_lost_server_is_told_and_found_again(dashboard, viewers, guarded):
    """Pages say so, and show all again once it is there."""
    viewed = dashboard("--role-header", ROLE, place=viewers.place(viewers.gate))
    who = {ROLE: viewers.name("operator")}
    assert viewed.get("/queues", headers=who).status == 200
    guarded.restart(immediate=True)
    until(lambda: viewed.get("/queues", headers=who).status == 200, "it is found again", viewed.stderr)
