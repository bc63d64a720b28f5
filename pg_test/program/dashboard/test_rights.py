"""All routes by all roles, however they log in: each shows and changes what its role may, and nothing else.

The routes come from the table that the router is made of, so one that is new is tried, too.
"""

import re
import time

import pytest

from support.dashboard import KINDS, ROLE, SAME_ORIGIN, basic, levers, main, pages, with_parameters
from support.dashboard_world import FIELDS, PARAMETERS, SECRET, changes, everything, parameters
from support.sleepers import until

MODES = ("own", "header", "basic")
# What a page needs, and who has that.
OPEN_TO = {
    "nothing": set(KINDS),
    "figures": {"monitor", "operator", "superuser"},
    "jobs": {"operator", "tenant", "superuser"},
}
CHANGES_LATER = ("/jobs/retry", "/jobs/cancel", "/jobs/discard")
EVERYBODY = [(mode, kind) for mode in MODES for kind in KINDS]
# What does not depend on the login.
MOST = [pytest.param(mode, kind, marks=[pytest.mark.long] if mode == "basic" else []) for mode, kind in EVERYBODY]


@pytest.fixture(scope="module")
def look(viewers, dashboard, certificates):
    """The program as viewers of a kind have it, and what they send with each request."""
    started = {}

    def start(key, *arguments, **more):
        if key not in started:
            started[key] = dashboard(*arguments, **more)
        return started[key]

    def as_viewer(mode: str, kind: str, writes: bool):
        allowed = ["--allow-writes"] if writes else []
        name = viewers.name(kind)
        if mode == "own":
            return start((mode, kind, writes), *allowed, place=viewers.place(name)), {}
        if mode == "header":
            return start((mode, writes), *allowed, "--role-header", ROLE, place=viewers.place(viewers.gate)), {ROLE: name}
        tls = ["--certificate", certificates.file("server.crt"), "--key", certificates.file("server.key")]
        return start((mode, writes), *allowed, "--basic", *tls, place=viewers.nowhere, trusted=certificates.file("authority.crt")), basic(name)

    return as_viewer


@pytest.fixture(scope="module")
def may_call(world, viewers):
    """The functions that a kind of viewers may call at all."""
    query = "SELECT DISTINCT proname FROM pg_proc WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) AND has_function_privilege(%s, oid, 'EXECUTE')"
    return {kind: {name for (name,) in world.conn.execute(query, [viewers.name(kind)])} if kind != "nobody" else set() for kind in KINDS}


def test_each_route_has_what_it_is_tried_with():
    assert set(FIELDS) == set(levers())
    assert set(PARAMETERS) <= set(pages())


@pytest.mark.parametrize("mode, kind", EVERYBODY)
def test_pages_are_open_to_who_may_read_them(world, look, mode, kind):
    """And to no one else, live or not; none of them changes anything."""
    viewed, who = look(mode, kind, writes=True)
    before = everything(world.conn)
    for path, needs in pages().items():
        expected = 200 if kind in OPEN_TO[needs] else 403
        for method in ("GET", "HEAD"):
            answer = viewed.ask(method, _with(world, path), headers=who)
            assert answer.status == expected, (method, path, answer.text)
        assert viewed.first_event(_with(world, path), who).status == expected, path
    assert changes(before, everything(world.conn)) == {}


def _with(world, path: str) -> str:
    return with_parameters(path, parameters(world, path))


@pytest.mark.parametrize("mode, kind", MOST)
def test_without_writes_nobody_changes_anything(world, look, mode, kind):
    viewed, who = look(mode, kind, writes=False)
    for path in levers():
        fields = FIELDS[path](world)
        before = everything(world.conn)
        answer = viewed.post(path, fields, headers=who)
        assert (answer.status, "read-only" in answer.text) == (403, True), (path, answer.text)
        assert changes(before, everything(world.conn)) == {}, path


@pytest.mark.parametrize("mode, kind", EVERYBODY)
def test_with_writes_each_changes_what_its_role_may(world, look, may_call, mode, kind):
    viewed, who = look(mode, kind, writes=True)
    for path, function in levers().items():
        if path == "/change/stop":
            continue
        fields = FIELDS[path](world)
        before = everything(world.conn)
        answer = viewed.post(path, fields, headers=who)
        if function not in may_call[kind]:
            _is_refused(answer, path)
            assert changes(before, everything(world.conn)) == {}, path
            continue
        assert answer.status == 303, (path, answer.text)
        assert answer.headers["Location"].startswith("/"), path
        if path in CHANGES_LATER:
            until(lambda path=path, before=before: changes(before, everything(world.conn)), f"{path} changes something", viewed.stderr)
        else:
            assert changes(before, everything(world.conn)) != {}, path


def _is_refused(answer, path) -> None:
    assert (answer.status, "42501" in answer.text) == (403, True), (path, answer.status, answer.text)


@pytest.mark.parametrize("mode", MODES)
def test_a_tenant_changes_nothing_of_others(world, look, mode):
    """One by one it is told so; of all that match, none is changed."""
    viewed, who = look(mode, "tenant", writes=True)
    discarded, waiting = world.jobs["discarded elsewhere"], world.jobs["waiting elsewhere"]
    before = everything(world.conn)
    for path, fields in {
        "/job/retry": {"id": discarded},
        "/job/cancel": {"id": waiting},
        "/job/discard": {"id": waiting},
        "/job/priority": {"id": waiting, "priority": 7},
    }.items():
        _is_refused(viewed.post(path, fields, headers=who), path)
        # An id that was never drawn is refused in the same words.
        told = [re.sub(r"\d+", "", main(viewed.post(path, fields | {"id": job}, headers=who).text)) for job in (fields["id"], 10**15)]
        assert told[0] == told[1]
    for deed in ("retry", "cancel", "discard"):
        for fields in ({"tenant": world.globex}, {"kind": world.letter}, {"queue": world.bulk}):
            answer = viewed.post(f"/jobs/{deed}", fields, headers=who)
            assert answer.status in (303, 403)
            if answer.status == 303:
                _await_end(viewed, answer.headers["Location"], who)
    assert changes(before, everything(world.conn)) == {}


def _await_end(viewed, location: str, who: dict) -> None:
    until(lambda: "42501" in viewed.get(location, headers=who).text, "the change fails", viewed.stderr)


@pytest.mark.parametrize("mode, kind", MOST)
def test_nobody_reads_what_its_role_may_not(world, look, mode, kind):
    """Payload, metadata, result, progress and errors are in all jobs, with the name of the tenant."""
    viewed, who = look(mode, kind, writes=True)
    seen = {"superuser": {"acme", "globex"}, "tenant": {"acme"}}.get(kind, set())
    hidden = [SECRET.format(world.names[tenant]) for tenant in ("acme", "globex") if tenant not in seen]
    for path in pages():
        for given in ({}, parameters(world, path)):
            text = viewed.get(path, given, headers=who).text
            assert not [secret for secret in hidden if secret in text], path
    for job in world.jobs.values():
        text = viewed.get("/job", {"id": job}, headers=who).text
        assert not [secret for secret in hidden if secret in text], job


def test_other_methods_are_refused(world, look):
    viewed, who = look("header", "superuser", writes=True)
    before = everything(world.conn)
    for path in {**pages(), **levers(), "/metrics": "", "/static/style.css": ""}:
        taken = {"POST"} if path in levers() else {"GET", "HEAD"}
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"} - taken:
            answer = viewed.ask(method, path, headers=who | SAME_ORIGIN)
            assert answer.status in (405, 404) and answer.headers["Access-Control-Allow-Origin"] is None, (method, path)
    assert changes(before, everything(world.conn)) == {}


def test_a_change_belongs_to_who_began_it(world, look, viewers):
    """Others can neither look at it nor stop it."""
    viewed, operator = look("header", "operator", writes=True)
    begun = viewed.post("/jobs/cancel", {"kind": "none of this kind"}, headers=operator)
    place = begun.headers["Location"]
    number = place.split("=")[1]
    for kind in ("superuser", "tenant", "monitor", "nobody"):
        who = {ROLE: viewers.name(kind)}
        assert viewed.get(place, headers=who).status in (403, 404), kind
        assert viewed.post("/change/stop", {"number": number}, headers=who).status == 404, kind
    assert viewed.post("/change/stop", {"number": number}, headers=operator).status == 303


def test_rights_apply_at_once(world, look, viewers):
    """A role that has lost them is refused with the next request, and its live pages end."""
    viewed, who = look("header", "monitor", writes=True)
    assert viewed.get("/queues", headers=who).status == 200
    name = viewers.name("monitor")
    world.conn.execute(f"SELECT turnstile.disallow('{name}')")
    try:
        until(lambda: viewed.get("/queues", headers=who).status == 403, "it is refused")
    finally:
        world.conn.execute(KINDS["monitor"].format(name))
    began = time.monotonic()
    until(lambda: viewed.get("/queues", headers=who).status == 200, "it is let in again")
    assert time.monotonic() - began < 5
