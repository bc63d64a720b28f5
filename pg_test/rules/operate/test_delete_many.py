"""delete_many: finished jobs leave the history before their time, but for those whose end others still need."""

from support import rows
from support.calls import call, cancel, claim_next, complete, discard, enqueue, retry
from support.crew import together


def _delete(conn, **filters) -> int:
    return call(conn, "delete_many", **filters)[0][0]


def _finished(conn, kind: str = "work", **arguments) -> int:
    enqueue(conn, kind, **arguments)
    run = claim_next(conn, "*")
    complete(conn, run)
    return run.id


def _history(conn) -> list[int]:
    return [job for (job,) in conn.execute("SELECT id FROM turnstile.job_history ORDER BY id, finished_at").fetchall()]


def test_filters_choose_and_others_stay(conn):
    mail, other = _finished(conn, "mail.a", tenant="acme"), _finished(conn, "other")
    waiting = enqueue(conn, "mail.b")
    assert _delete(conn, kind="mail.*") == 1
    assert (_history(conn), rows.live(conn, waiting).id) == ([other], waiting)
    assert _delete(conn, kind="mail.*") == 0
    assert mail != other


def test_states_and_times_choose(conn):
    done = _finished(conn)
    gone = enqueue(conn)
    cancel(conn, gone)
    dead = enqueue(conn)
    discard(conn, claim_next(conn))
    assert _delete(conn, state="cancelled") == 1
    assert _history(conn) == [done, dead]
    assert _delete(conn, older_than="1 hour") == 0
    assert _delete(conn, ended_before="2001-01-01") == 0
    assert _delete(conn, ended_before="2100-01-01", first_id=dead) == 1
    assert _delete(conn, ended_before="2100-01-01", last_id=done - 1) == 0
    assert _delete(conn, older_than="0") == 1


def test_a_job_that_was_brought_back_goes_with_all_its_ends(conn):
    job = enqueue(conn)
    discard(conn, claim_next(conn))
    retry(conn, job)
    assert _delete(conn, kind="work") == 0, "it is live"
    complete(conn, claim_next(conn))
    assert _history(conn) == [job, job]
    assert _delete(conn, state="discarded") == 0, "that is not its last end"
    assert _delete(conn, state="completed") == 1
    assert _history(conn) == []


def test_no_more_than_were_asked_for_and_the_oldest_ids_first(conn):
    made = [_finished(conn) for _ in range(5)]
    assert [_delete(conn, kind="work", max_jobs=n) for n in (0, 2)] == [0, 2]
    assert _history(conn) == made[2:]


def test_children_stay_until_their_parent_has_ended(conn):
    parent = call(conn, "enqueue_batch", kind="parent", children='[{"kind": "child"}, {"kind": "child"}]')[0][0]
    for _ in range(2):
        complete(conn, claim_next(conn), result={"n": 1})
    assert _delete(conn, kind="child") == 0
    run = claim_next(conn)
    assert (run.id, _delete(conn, kind="child")) == (parent, 0)
    complete(conn, run)
    assert _delete(conn, kind="child") == 2


def test_a_job_that_another_comes_after_stays(conn):
    first = enqueue(conn, "first")
    enqueue(conn, "second", after=[first], after_hold=True)
    discard(conn, claim_next(conn))
    assert _delete(conn, kind="first") == 0
    assert retry(conn, first) == "available"


def test_what_another_transaction_has_locked_is_passed_over(conn, other):
    kept, gone = _finished(conn), _finished(conn)
    other.execute("BEGIN")
    retry(other, kept)
    assert _delete(conn, kind="work") == 1
    other.execute("ROLLBACK")
    assert (_history(conn), gone > kept) == ([kept], True)


def test_it_can_be_undone(conn):
    job = _finished(conn)
    conn.execute("BEGIN; SAVEPOINT s")
    assert _delete(conn, kind="work") == 1
    conn.execute("ROLLBACK TO s; COMMIT")
    assert _history(conn) == [job]


def test_each_job_is_deleted_once_by_many_at_once(db, conn):
    for _ in range(40):
        _finished(conn)
    done = together([lambda own=db.connect(): sum(iter(lambda: _delete(own, kind="work", max_jobs=3), 0)) for _ in range(4)])
    assert (sum(done), _history(conn)) == (40, [])
