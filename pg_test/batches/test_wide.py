"""One look after jobs that wait reads and locks as many rows as it is told, however many followers or predecessors one job has."""

import pytest

from rules.test_plans import statements
from support.batches import awaited, claim_awaited, enqueue_batch, nothing_comes, of
from support.calls import call, claim, claim_next, complete, complete_many, discard, enqueue, enqueue_many, ids, retry
from support.plans import PLANNED, nodes, text_of

MANY = 10_000
CHUNK = 20
# For each row of a chunk: some levels of each index, a history of some days, what locking and changing it reads.
PAGES = CHUNK * 60
LOOKS = ["tell_predecessors", "meet_dependencies", "lock_blocked", "decide_blocked", "blocked_children"]
WALKS = ["next_followers", "next_blocked", "next_batches"]
GONE = 10**12


def followed(conn, is_live: bool, is_told: bool) -> int:
    """A job that many come after."""
    first = enqueue(conn) if is_live else GONE
    others = ids(enqueue_many(conn, [{"kind": "after"}] * MANY))
    _come_after(conn, [(first, job, is_told) for job in others])
    return first


def follower(conn, is_live: bool, is_told: bool) -> int:
    """A job that comes after many."""
    last = enqueue(conn)
    others = ids(enqueue_many(conn, [{"kind": "before"}] * MANY)) if is_live else range(GONE, GONE + MANY)
    _come_after(conn, [(job, last, is_told) for job in others])
    return last


def _come_after(conn, dependencies: list) -> None:
    """As if the followers had just been added, or as if memory had been lost since."""
    with conn.cursor() as cursor, cursor.copy("COPY turnstile.dependency (predecessor, job, is_told) FROM STDIN") as copy:
        for dependency in dependencies:
            copy.write_row(dependency)
    conn.execute("UPDATE turnstile.job SET state = 'blocked' WHERE id IN (SELECT job FROM turnstile.dependency)")


@pytest.mark.parametrize("is_told", [False, True], ids=["untold", "told"])
@pytest.mark.parametrize("is_live", [False, True], ids=["ended", "live"])
@pytest.mark.parametrize("make", [followed, follower])
def test_a_look_reads_as_much_as_it_is_told(conn, make, is_live, is_told):
    conn.execute("BEGIN")
    job = make(conn, is_live, is_told)
    conn.execute(f"{PLANNED}; SET plan_cache_mode = force_generic_plan")
    looked = {name: _pages(conn, name, f"'{{{job}}}'") for name in LOOKS}
    walked = {name: _pages(conn, name, "0") for name in WALKS}
    conn.execute("ROLLBACK")
    assert {name: pages for name, pages in (looked | walked).items() if pages > PAGES} == {}


@pytest.mark.parametrize(("name", "more", "told"), [("tell_predecessors", [CHUNK], "told"), ("meet_dependencies", [MANY, CHUNK], "failed")])
def test_one_that_has_many_takes_no_share_of_others(conn, name, more, told):
    is_live = told == "told"
    conn.execute("BEGIN")
    many = follower(conn, is_live, is_told=False)
    few = enqueue(conn, after=[enqueue(conn)]) if is_live else enqueue(conn)
    if not is_live:
        _come_after(conn, [(GONE - 1, few, False)])
    types, given = ", ".join(statements()[name][0]), ", ".join(map(str, [f"'{{{many}, {few}}}'", *more]))
    conn.execute(f"PREPARE looked ({types}) AS {text_of(name)}")
    outcomes = [(row[0], row[-1]) for row in conn.execute(f"EXECUTE looked ({given})")]
    conn.execute("DEALLOCATE looked; ROLLBACK")
    assert (few, told) in outcomes
    assert outcomes.count((many, told)) == CHUNK


def test_whether_a_batch_has_failed_is_told_by_an_index(conn):
    """As long as max_failed allows more than were discarded, whatever was brought back of them."""
    children = 1_000
    parent = enqueue_batch(conn, children=of(children), max_failed=2 * children)
    runs = []
    while len(runs) < children:
        runs += claim(conn, ["default"], children)
    call(conn, "fail_many", job_ids=ids(runs), attempts=[run.attempt for run in runs], discard=[True] * children)
    conn.execute(f"{PLANNED}; SET plan_cache_mode = force_generic_plan")
    assert _pages(conn, "fail_batches", f"'{{{parent}}}'") < 3 * children


def _pages(conn, name: str, start: str) -> int:
    types = statements()[name][0]
    given = ", ".join([start] + [str(CHUNK)] * (len(types) - 1))
    with conn.transaction(force_rollback=True):
        conn.execute(f"PREPARE looked ({', '.join(types)}) AS {text_of(name)}")
        ((explained,),) = conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked ({given})").fetchall()
        conn.execute("DEALLOCATE looked")
    # What changes rows after the result is known does not count in what gives the result.
    return max(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for node in nodes(explained[0]["Plan"]))


def test_who_holds_for_many_still_learns_of_the_others(conn):
    """Those that have ended wrong take no place in a look from those that are still to be told."""
    failed = ids(enqueue_many(conn, [{"kind": "fails"}] * 1_200))
    for run in claim(conn, ["default"], 1_200):
        discard(conn, run)
    live = ids(enqueue_many(conn, [{"kind": "live"}] * 3))
    last = enqueue(conn, "last", after=failed + live, after_hold=True)
    awaited(conn, "SELECT bool_and(is_told) FROM turnstile.dependency WHERE job = %s", True, last)
    runs = claim(conn, ["default"], 3)
    assert sorted(ids(runs)) == live
    complete_many(conn, runs)
    nothing_comes(conn)
    for job in failed:
        retry(conn, job)
    taken = []
    while len(taken) < len(failed):
        run = claim_awaited(conn)
        assert run.id != last
        taken.append(run.id)
        complete(conn, run)
    assert claim_awaited(conn).id == last


def test_a_job_comes_after_many_of_which_some_have_ended_before_it_was_added(conn):
    before = ids(enqueue_many(conn, [{"kind": "before"}] * 1_500))
    complete_many(conn, claim(conn, ["default"], 700))
    last = enqueue(conn, "last", after=before)
    for number in (300, 300, 200):
        runs = claim(conn, ["default"], number)
        assert len(runs) == number
        complete_many(conn, runs)
    assert claim_awaited(conn).id == last
    assert claim_next(conn) is None


def test_who_is_marked_already_can_be_claimed_while_followers_are_told(conn, other):
    first = enqueue(conn)
    enqueue(conn, after=[first])
    awaited(conn, "SELECT has_followers FROM turnstile.job WHERE id = %s", True, first)
    made = list(range(GONE, GONE + 3))
    other.execute("BEGIN")
    _come_after(other, [(first, job, False) for job in made])
    other.execute(f"PREPARE tell ({', '.join(statements()['tell_predecessors'][0])}) AS {text_of('tell_predecessors')}")
    told = other.execute(f"EXECUTE tell ('{{{', '.join(map(str, made))}}}', {CHUNK})").fetchall()
    assert sorted(told) == [(job, "told") for job in made]
    assert claim_next(conn).id == first
    other.execute("ROLLBACK")
