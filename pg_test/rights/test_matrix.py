"""Each call on each job by each role in each way: refused with 42501 or not, and nothing leaks."""

import pytest
from rights.cases import CASES, Case
from rights.world import ALL, PERMISSIONS, SECRET, TARGETS, WAYS, World, allowed, attempt, beyond_status, world

from support.database import disagreements
from support.errors import NO_PRIVILEGE


@pytest.fixture(scope="module", params=[False, True], ids=["direct path", "usual path"])
def given(request):
    with world(no_op_trigger=request.param) as made:
        yield made
        assert disagreements(made.database) == []


def is_allowed(case: Case, role: str) -> bool:
    if case.any_of and not any(verb in (*case.any_of.split(), ALL) for verb, *_ in PERMISSIONS[role]):
        return False
    return all(allowed(role, *need) for need in case.needs)


def text_of(case: Case, given: World) -> str:
    text = case.statement
    for state in ("waiting", "running", "finished"):
        text = text.replace(f"{{{state}}}", str(given.jobs.get((case.target, state))))
    return text


def may_know(role: str) -> bool:
    """A worker is handed jobs of his queues, and a tenant's role sees his own."""
    return role in ("everything", "worker", "tenant")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", PERMISSIONS)
def test_who_may_do_what(given, way, role):
    conn = given.database.connect()
    wrong = []
    for case in CASES:
        if case.statement.startswith("COPY") and way == "wrapper":
            continue
        state, told = attempt(conn, given, way, role, text_of(case, given))
        is_refused = state == NO_PRIVILEGE
        if is_refused == is_allowed(case, role):
            wrong.append((case.name, state, told))
        if state.startswith("XX"):
            wrong.append((case.name, state, told))
        if SECRET in beyond_status(role, told) and (is_refused or not may_know(role)):
            wrong.append((case.name, "leaks", told))
    assert wrong == []


@pytest.mark.parametrize("role", [role for role in PERMISSIONS if role != "everything"])
def test_a_job_that_may_not_be_touched_looks_like_none(given, role):
    """The same SQLSTATE and text for a job of somebody else as for an id that was never drawn."""
    conn = given.database.connect()
    for case in CASES:
        if case.target is None or not case.statement.startswith("SELECT") or is_allowed(case, role):
            continue
        text = text_of(case, given)
        ids = [str(given.jobs[case.target, state]) for state in ("waiting", "running", "finished")]
        meant = next((each for each in ids if f"({each}" in text), None)
        if meant is None or "queue =>" in text:
            continue
        nobodys = text.replace(f"({meant}", "(987654321")
        found = attempt(conn, given, "SET ROLE", role, text)
        none = attempt(conn, given, "SET ROLE", role, nobodys)
        assert found == (none[0], none[1].replace("987654321", meant)), case.name


@pytest.mark.parametrize("role", PERMISSIONS)
def test_runs_of_other_queues_are_not_counted(given, role):
    """Calls about many runs leave them alone like those that were superseded."""
    conn = given.database.connect()
    running = [given.jobs[target, "running"] for target in TARGETS]
    runs = f"ARRAY{running}::bigint[], ARRAY{[1] * len(running)}"
    expected = sum(allowed(role, "work", queue, ALL) for queue, _ in TARGETS.values())
    for count in (
        f"turnstile.complete_many({runs})", f"turnstile.fail_many({runs})",
        f"count(*)::int FROM turnstile.heartbeat_many({runs}) WHERE status = 'running'",
    ):  # fmt: skip
        assert attempt(conn, given, "SET ROLE", role, f"SELECT {count}") == ("00000", f"[({expected},)]")


@pytest.mark.parametrize("role", PERMISSIONS)
def test_my_jobs_shows_what_the_caller_may_see(given, role):
    conn = given.database.connect()
    statement = "SELECT coalesce(tenant, '') FROM turnstile.my_jobs"
    state, told = attempt(conn, given, "SET ROLE", role, statement)
    seen = [(queue, tenant) for queue, tenant in TARGETS.values() if allowed(role, "see", queue, tenant)]
    assert state == "00000"
    assert sorted(told.count(repr(tenant or "")) for _, tenant in seen) == sorted(
        3 * sum(other == tenant for _, other in seen) for _, tenant in seen
    )
    assert told.count("(") == 3 * len(seen)
