"""Who follows the jobs that end goes on at the other server, if that has all that was given."""

from failover.pair import DATABASE
from support.calls import claim_next, complete, enqueue
from support.errors import BAD_VALUE, refused
from support.tail import Tail, history


def end_one(conn) -> int:
    enqueue(conn)
    run = claim_next(conn)
    complete(conn, run)
    return run.id


def test_a_cursor_goes_on_after_a_switchover(pair):
    with pair.primary.connect(DATABASE) as conn:
        tail = Tail(conn)
        end_one(conn)
        tail.to_the_end()
        end_one(conn)
    for _ in range(2):
        pair.switch_over()
        with pair.primary.connect(DATABASE) as conn:
            tail.conn = conn
            end_one(conn)
            tail.to_the_end()
            assert tail.seen == history(conn)
        pair.bring_back()


def test_a_cursor_of_what_was_lost_is_refused(asynchronous_pair):
    pair = asynchronous_pair
    with pair.primary.connect(DATABASE) as conn:
        tail = Tail(conn)
        end_one(conn)
        tail.to_the_end()
        kept = tail.cursor

        def go_ahead():
            end_one(conn)
            assert tail.to_the_end()

        pair.await_standby()
        pair.kill_primary_ahead(go_ahead)
    with pair.primary.connect(DATABASE) as conn:
        lost = Tail(conn, since=tail.cursor)
        with refused(BAD_VALUE):
            lost.read()
        for _ in range(3):
            job = end_one(conn)
        with refused(BAD_VALUE):
            lost.read()
        assert Tail(conn, since=kept).to_the_end()[-1] == job
