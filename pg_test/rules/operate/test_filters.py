"""What the calls about many jobs choose by, and the jobs that are dead."""

from random import Random

import pytest
from psycopg.types.json import Jsonb

from support.calls import call, cancel, claim_next, enqueue, fail, retry
from support.errors import refused
from support.rows import live, state

NOT_PERMITTED = "42501"


def many(conn, verb="cancel_many", **filters) -> int:
    [(count,)] = call(conn, verb, **filters)
    return count


def dead(conn, error, **arguments) -> int:
    job = enqueue(conn, **arguments)
    fail(conn, claim_next(conn, "*"), error=error, discard=True)
    return job


def dead_jobs(conn) -> list[int]:
    return [job for (job,) in conn.execute("SELECT id FROM turnstile.dead_jobs ORDER BY id")]


@pytest.mark.parametrize(("kind", "count"), [
    ("mail", 1), ("mail.*", 2), ("*", 5), ("*.b", 2), ("m*l.b", 1), ("a_b", 1), ("a%*", 0), ("mail.", 0), ("\\*", 0), ("!*", 0),
])  # fmt: skip
def test_a_kind_may_be_a_pattern(conn, kind, count):
    for name in ("mail", "mail.a", "mail.b", "a_b", "axb.b"):
        enqueue(conn, name)
    assert many(conn, kind=kind) == count


def test_a_pattern_chooses_what_a_route_of_it_would(conn):
    random = Random(1)
    kinds = sorted({"".join(random.choices("ab!%_\\é", k=random.randint(1, 4))) for _ in range(60)})
    for kind in kinds:
        enqueue(conn, kind)
    for _ in range(80):
        pattern = "".join(random.choices("**ab!%_\\é", k=random.randint(1, 5)))
        conn.execute("DELETE FROM turnstile.route")
        call(conn, "set_route", pattern=pattern)
        chosen = sum(call(conn, "route_of", kind=kind) != [(None,)] for kind in kinds)
        with conn.transaction(force_rollback=True):
            assert many(conn, kind=pattern) == chosen, pattern


def test_concurrency_keys_and_metadata_choose(conn):
    for key, metadata in (("a", {"of": 1}), ("a", {"of": 2, "by": "me"}), ("b", None)):
        enqueue(conn, concurrency_key=key, metadata=metadata)
    assert many(conn, metadata={"by": "me"}) == 1
    assert many(conn, concurrency_key="a") == 1
    assert many(conn, concurrency_key="a") == 0
    assert many(conn, concurrency_key="b", metadata={}) == 0


def test_retry_many_goes_by_the_beginning_of_the_last_error(conn):
    slow, other = dead(conn, "timeout: 3 s"), dead(conn, "no timeout")
    again = dead(conn, "timeout")
    retry(conn, again)
    fail(conn, claim_next(conn), error="gone", discard=True)
    assert many(conn, "retry_many", error="timeout") == 1
    assert (live(conn, slow).state, live(conn, other)) == ("available", None)
    assert many(conn, "retry_many", error="timeout") == 0


def test_waiting_jobs_are_chosen_by_error_too(conn):
    enqueue(conn)
    fail(conn, claim_next(conn), error="50% lost", retry_in="1 day")
    assert many(conn, "discard_many", error="50_") == 0
    assert many(conn, "discard_many", error="50%") == 1


@pytest.mark.parametrize("filters", [{"metadata": {}}, {"error": ""}])
def test_who_may_not_see_jobs_may_not_choose_by_what_is_in_them(db, conn, role, filters):
    conn.execute("SELECT turnstile.allow_operator(%s)", [role])
    enqueue(conn)
    caller = db.connect()
    caller.execute(f"SET ROLE {role}")
    with refused(NOT_PERMITTED):
        many(caller, **filters)
    assert many(caller, kind="*") == 1


def test_a_batch_that_stops_is_chosen_once(conn):
    [(batch,)] = call(conn, "enqueue_batch", kind="sum", queue="q", children=Jsonb([{"kind": "part"}]))
    claim_next(conn, "q")
    assert [many(conn, queue="q", state="blocked") for _ in range(2)] == [1, 0]
    assert state(conn, batch) == "blocked"


def test_dead_jobs_are_those_that_were_not_brought_back(conn):
    gone, back, again = (dead(conn, "no") for _ in range(3))
    cancel(conn, enqueue(conn))
    retry(conn, back)
    assert dead_jobs(conn) == [gone, again]
    retry(conn, again)
    for _ in range(2):
        fail(conn, claim_next(conn), error="no", discard=True)
    assert dead_jobs(conn) == [gone, back, again]


def test_a_tenant_sees_its_own_dead_jobs(db, conn, role):
    conn.execute("SELECT turnstile.allow_tenant(%s, '{acme}')", [role])
    own, _ = dead(conn, "no", tenant="acme"), dead(conn, "no", tenant="other")
    caller = db.connect()
    caller.execute(f"SET ROLE {role}")
    assert dead_jobs(caller) == [own]


def test_a_loop_that_began_before_retries_nothing_twice(conn):
    """What was retried fails again, later than the loop began."""
    jobs = [dead(conn, "no") for _ in range(3)]
    enqueue(conn)
    fail(conn, claim_next(conn), error="no", retry_in="1 day")
    [(begun,)] = conn.execute("SELECT clock_timestamp()").fetchall()
    retried = 0
    while count := many(conn, "retry_many", error="no", ended_before=begun, max_jobs=2):
        retried += count
        while run := claim_next(conn):
            fail(conn, run, error="no", discard=True)
    assert retried == 4
    assert many(conn, "retry_many", error="no", max_jobs=10) == 4
    assert live(conn, jobs[0]).state == "available"


def test_ranges_of_ids_choose_live_and_finished_ones(conn):
    first, second = dead(conn, "no"), dead(conn, "no")
    assert many(conn, "retry_many", first_id=second) == 1
    assert many(conn, "cancel_many", last_id=first) == 0
    assert many(conn, "cancel_many", first_id=first, last_id=second) == 1
    assert many(conn, "retry_many", first_id=second + 1) == 0
