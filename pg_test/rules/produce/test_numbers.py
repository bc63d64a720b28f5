"""Ids and positions grow in the order in which they are drawn, whoever draws them and by whatever means; none is given twice."""

import psycopg
import pytest

from support.calls import call, claim_all, claim_next, complete, enqueue, enqueue_many, enqueue_times, fail, ids, release
from support.database import Database, server
from support.drawn import A_ROW, SEQUENCES, draw_ahead, drawn, grows, next_place, place, places

INSERT = "INSERT INTO turnstile.job (kind) VALUES ('work') RETURNING id"
LAST = 2**63 - 1
EXHAUSTED = "2200H"


def _insert(conn) -> int:
    return conn.execute(INSERT).fetchone()[0]


def _set(conn, value: int, is_called: bool = True) -> None:
    for sequence in SEQUENCES.values():
        conn.execute("SELECT setval(%s, %s, %s)", [sequence, value, is_called])


def test_backends_in_turn(db, conn, other):
    draw_ahead(conn)
    backends = [conn, other, db.connect()]
    made = [enqueue(backends[number % 3]) for number in range(30)]
    assert grows(places(conn, made))
    numbers = places(conn, made)
    assert numbers[-1][0] - numbers[0][0] == 29, "all of them draw from what was drawn ahead"


def test_jobs_of_enqueue_many(conn, other):
    """More than are drawn ahead at once."""
    made = [draw_ahead(conn)]
    for connection in (conn, other, conn):
        made += ids(enqueue_many(connection, [{"kind": "work"}] * 700))
        made.append(enqueue(other))
    assert grows(places(conn, made))
    assert ids(claim_all(conn))[-len(made):] == made


def test_jobs_that_plain_sql_adds(conn, other):
    made = [draw_ahead(conn)]
    for _ in range(3):
        made += [_insert(other), enqueue(conn), enqueue(other), _insert(conn), enqueue(conn)]
    assert grows(places(conn, made))


@pytest.mark.parametrize(
    "arguments",
    [{"unique_key": "a"}, {"unique_key": "b", "unique_mode": "while_executing"}, {"session": "s"}, {"tenant": "t"}],
    ids=lambda arguments: " ".join(arguments),
)
def test_jobs_of_every_kind(conn, other, arguments):
    made = [draw_ahead(conn), enqueue(other, **arguments), enqueue(conn)]
    made.append(enqueue(conn, after=made[-1:]))
    (batch,) = call(other, "enqueue_batch", kind="work", children='[{"kind": "work"}]')[0]
    made += [batch, batch + 1, enqueue(conn)]
    assert grows(places(conn, made))


def test_a_duplicate_takes_no_number(conn):
    enqueue(conn, unique_key="a")
    before = draw_ahead(conn)
    enqueue(conn, unique_key="a")
    assert enqueue(conn) == before + 1


@pytest.mark.parametrize("way", ["release", "fail", "retry"])
def test_a_job_that_is_brought_back_is_behind_those_before_and_ahead_of_those_after(conn, other, way):
    enqueue(conn, max_attempts=1)
    run = claim_next(conn)
    assert grows(places(conn, enqueue_times(conn, A_ROW)))
    before = enqueue(conn)
    if way == "release":
        release(conn, run)
    else:
        fail(conn, run, error="no", retry_in="0") if way == "fail" else fail(conn, run, error="no")
        conn.execute("SELECT turnstile.retry(%s)", [run.id])
    after = [enqueue(conn), enqueue(other)]
    assert [position for _, position in places(conn, [before, run.id, *after])] == sorted(
        position for _, position in places(conn, [before, run.id, *after])
    )
    assert ids(claim_all(conn))[-4:] == [before, run.id, *after]


@pytest.mark.parametrize("value", ["as it is", "far ahead"])
def test_setval(conn, other, value):
    """What was drawn ahead is given up, also where the sequence is set to what it was."""
    draw_ahead(conn)
    enqueue(other)
    ahead = max(drawn(conn)) + (10**6 if value == "far ahead" else 0)
    _set(other, ahead)
    for connection in (conn, other):
        assert next_place(connection) > (ahead, ahead)
    assert next_place(conn) == (ahead + 3, ahead + 3)


def test_setval_to_a_number_that_is_to_come_next(conn, other):
    draw_ahead(conn)
    _set(other, 10**6, is_called=False)
    assert next_place(conn) == (10**6, 10**6)
    assert next_place(other) == (10**6 + 1, 10**6 + 1)


def test_setval_back(conn, other):
    """As far back as there are no jobs."""
    draw_ahead(conn)
    conn.execute("DELETE FROM turnstile.job")
    _set(other, 5)
    assert next_place(conn) == (6, 6)


def test_truncate_restarts(conn, other):
    draw_ahead(conn)
    enqueue(other)
    conn.execute("BEGIN")
    conn.execute("TRUNCATE turnstile.job RESTART IDENTITY CASCADE")
    assert places(conn, enqueue_times(conn, A_ROW)) == [(number, number) for number in range(1, A_ROW + 1)]
    conn.execute("COMMIT")
    assert next_place(other) == (A_ROW + 1, A_ROW + 1)
    assert next_place(conn) == (A_ROW + 2, A_ROW + 2)


def test_a_truncate_that_is_rolled_back_restarts_nothing(conn, other):
    before = place(conn, draw_ahead(conn))
    conn.execute("BEGIN")
    conn.execute("TRUNCATE turnstile.job RESTART IDENTITY CASCADE")
    enqueue_times(conn, A_ROW)
    conn.execute("ROLLBACK")
    assert grows([before, next_place(other), next_place(conn), next_place(other)])


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_restarted_sequence(conn, other, end):
    before = place(conn, draw_ahead(conn))
    enqueue(other)
    other.execute("BEGIN")
    for sequence in SEQUENCES.values():
        other.execute(f"ALTER SEQUENCE {sequence} RESTART WITH 5000")
    assert [next_place(other), next_place(other)] == [(5000, 5000), (5001, 5001)]
    other.execute(end)
    if end == "COMMIT":
        assert [next_place(conn), next_place(other)] == [(5002, 5002), (5003, 5003)]
    else:
        assert grows([before, next_place(conn), next_place(other)])


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("inside", [0, 1, A_ROW])
def test_a_sequence_restarted_where_numbers_were_drawn_ahead(conn, other, inside, end):
    """What a rolled back restart has given is no number of the sequence, though it may look like it."""
    made = enqueue_times(conn, A_ROW)
    first = place(conn, draw_ahead(conn))
    made.append(enqueue(conn))
    other.execute("BEGIN")
    for sequence, number in zip(SEQUENCES.values(), first, strict=True):
        other.execute(f"ALTER SEQUENCE {sequence} RESTART WITH {number + 100_000}")
    enqueue_times(other, inside)
    other.execute(end)
    made += [enqueue(conn), enqueue(other), enqueue(conn)]
    made += enqueue_times(other, A_ROW)
    assert grows(places(conn, made))


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("change", ["MAXVALUE 1000000000", "CACHE 1", "OWNED BY NONE", "SET UNLOGGED"])
def test_a_changed_sequence(conn, other, change, end):
    """It goes on where it was, in another file."""
    made = [draw_ahead(conn), enqueue(other)]
    other.execute("BEGIN")
    for sequence in SEQUENCES.values():
        other.execute(f"ALTER SEQUENCE {sequence} {change}")
    made += enqueue_times(other, A_ROW) if end == "COMMIT" else []
    other.execute(end)
    made += [enqueue(conn), enqueue(other), *enqueue_times(conn, A_ROW), enqueue(other)]
    assert grows(places(conn, made))
    if change == "SET UNLOGGED" and end == "COMMIT":
        assert drawn(conn) == place(conn, made[-1]), "nothing is drawn ahead of what is not logged"


def test_a_sequence_in_steps_of_ten(conn, other):
    """As servers use that share their numbers with others."""
    draw_ahead(conn)
    for sequence in SEQUENCES.values():
        conn.execute(f"ALTER SEQUENCE {sequence} INCREMENT BY 10 RESTART WITH 50003")
    made = [enqueue((conn, other)[number % 2]) for number in range(3 * A_ROW)]
    assert made == [50003 + 10 * number for number in range(3 * A_ROW)]


def test_the_last_numbers(conn, other):
    """Near the end nothing is drawn ahead, and no number is lost."""
    conn.execute("SELECT setval('turnstile.job_id_seq', %s)", [LAST - 1500])
    draw_ahead(conn)
    made = [job for _ in range(4) for job in ids(enqueue_many(other, [{"kind": "work"}] * 350))]
    left = LAST - made[-1]
    assert left < 100
    assert enqueue_times(conn, left)[-1] == LAST
    for connection in (conn, other):
        with pytest.raises(psycopg.Error) as caught:
            enqueue(connection)
        assert caught.value.sqlstate == EXHAUSTED


def test_numbers_of_a_transaction_that_is_rolled_back_are_not_given_again(conn, other):
    draw_ahead(conn)
    conn.execute("BEGIN")
    rolled_back = places(conn, ids(enqueue_many(conn, [{"kind": "work"}] * 1200)))
    meanwhile = next_place(other)
    conn.execute("ROLLBACK")
    assert grows([rolled_back[-1], meanwhile, next_place(conn), next_place(other)])


def test_a_database_made_of_another(db, conn):
    """It goes on where that one was, and each by itself."""
    last = place(conn, draw_ahead(conn))
    db.close()
    copy = Database(f"{db.name}_copy")
    with server() as admin:
        admin.execute(f"CREATE DATABASE {copy.name} TEMPLATE {db.name}")
    try:
        for database in (copy, db):
            there = database.connect()
            assert grows([last, *places(there, enqueue_times(there, A_ROW))])
    finally:
        copy.close()
        with server() as admin:
            admin.execute(f"DROP DATABASE {copy.name} WITH (FORCE)")


def test_an_extension_that_is_made_again_begins_anew(conn, other):
    draw_ahead(conn)
    enqueue(other)
    conn.execute("DROP EXTENSION turnstile CASCADE")
    conn.execute("CREATE EXTENSION turnstile")
    assert [next_place(other), next_place(conn)] == [(1, 1), (2, 2)]


def test_where_others_draw_each_time_nothing_is_drawn_ahead(conn, other):
    """It would be lost each time."""
    draw_ahead(conn)
    _insert(other)
    for _ in range(2 * A_ROW):
        made = [enqueue(conn), _insert(other)]
    assert drawn(conn) == place(conn, made[-1])


def test_the_sequences_say_how_far_numbers_are_drawn(conn):
    """What reads them to go past all jobs does."""
    last = draw_ahead(conn)
    complete(conn, claim_next(conn))
    assert all(end >= number for number, end in zip(place(conn, last), drawn(conn), strict=True))
