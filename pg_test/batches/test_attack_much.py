"""Second round: who may see and set what, dumps, and much at once."""

import json
import subprocess
import threading

import psycopg
from test_attack_ties import claim, end, enqueue, enqueue_batch, scalar


def test_children_that_come_back_wait_for_their_batch_to_be_opened_before_they_are_in_line(conn):
    failed = enqueue_batch(conn, [{"kind": "child", "session": "x"}], session="a")
    claim(conn, "nothing")
    for _ in range(20):
        found = claim(conn)
        if found:
            break
    conn.execute("SELECT turnstile.discard(%s, %s, NULL)", found[0][:2])
    claim(conn, "nothing")
    end(conn, failed, "discard")
    # It is in the session before the other comes back, and its child comes later.
    holder = enqueue_batch(conn, [{"kind": "first"}], session="a")
    for _ in range(20):
        found = claim(conn)
        if found:
            break
    conn.execute("SELECT turnstile.retry(%s)", [failed])
    enqueue(conn, "late", parent=holder, session="x")
    conn.execute("SELECT turnstile.complete(%s, %s)", found[0][:2])
    ended = set()
    for _ in range(100):
        for job, attempt, kind in claim(conn):
            ended.add(kind + str(job))
            conn.execute("SELECT turnstile.complete(%s, %s)", [job, attempt])
        if not scalar(conn, "SELECT count(*) FROM turnstile.job"):
            break
        conn.execute("SELECT pg_sleep(0.02)")
    assert scalar(conn, "SELECT count(*) FROM turnstile.job") == 0


def test_many_batches_whose_turn_has_come(conn):
    for _ in range(200):
        enqueue_batch(conn, [{"kind": "child"}], run_at="2000-01-01 00:00:00+00")
    for number in range(200):
        enqueue_batch(conn, [{"kind": "child"}], session=f"s{number}")
    plain = enqueue(conn, "plain")
    ended = 0
    for _ in range(2000):
        for job, attempt, kind in claim(conn, most=50):
            ended += 1
            conn.execute("SELECT turnstile.complete(%s, %s)", [job, attempt])
        if not scalar(conn, "SELECT count(*) FROM turnstile.job"):
            break
    assert ended == 801


def test_many_batches_that_are_scheduled_in_one_lane(conn):
    for _ in range(200):
        enqueue_batch(conn, [{"kind": "child"}], after=[enqueue(conn, "plain")])
    conn.execute("CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$")
    conn.execute("CREATE TRIGGER nothing BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.nothing()")
    ended = 0
    for _ in range(2000):
        for job, attempt, kind in claim(conn, most=50):
            ended += 1
            conn.execute("SELECT turnstile.complete(%s, %s)", [job, attempt])
        if not scalar(conn, "SELECT count(*) FROM turnstile.job"):
            break
    assert ended == 600


def test_ten_thousand_followers_of_one(conn):
    first = enqueue(conn, "first")
    jobs = [{"kind": "late", "after": [first]}] * 10000
    conn.execute("SELECT count(*) FROM turnstile.enqueue_many(%s)", [json.dumps(jobs)])
    end(conn, first)
    ended = 0
    for _ in range(3000):
        found = claim(conn, most=1000)
        ended += len(found)
        if found:
            pairs = json.dumps([[job, attempt] for job, attempt, _ in found])
            conn.execute("SELECT turnstile.complete((pair ->> 0)::bigint, (pair ->> 1)::int) FROM jsonb_array_elements(%s) pair", [pairs])
        if not scalar(conn, "SELECT count(*) FROM turnstile.job"):
            break
    assert ended == 10000


def test_a_claim_in_an_open_block_does_not_keep_a_predecessor_from_ending(db, conn, other):
    first = enqueue(conn, "first", queue="f")
    [(job, attempt, _)] = claim(conn, "f")
    worker = db.connect(autocommit=False)
    with db.connect(autocommit=False) as producer:
        producer.execute("SELECT turnstile.enqueue('late', queue => 'f', after => %s)", [[first]])
        producer.execute("SELECT turnstile.enqueue('own', queue => 'w')")
        producer.commit()
    assert worker.execute("SELECT count(*) FROM turnstile.claim('{w}', 1)").fetchone() == (1,)
    other.execute("SET statement_timeout = '5s'")
    other.execute("SELECT turnstile.complete(%s, %s)", [job, attempt])
    worker.rollback()


def test_a_claim_that_sleeps_does_not_keep_a_predecessor_from_ending(db, conn, other):
    first = enqueue(conn, "first", queue="f")
    [(job, attempt, _)] = claim(conn, "f")
    sleeper = threading.Thread(
        target=lambda: db.connect().execute("SELECT count(*) FROM turnstile.claim('{w}', 1, wait => '10 s')")
    )
    sleeper.start()
    try:
        for _ in range(20):
            enqueue(conn, "late", queue="f", after=[first])
            conn.execute("SELECT pg_sleep(0.01)")
        other.execute("SET statement_timeout = '5s'")
        other.execute("SELECT turnstile.complete(%s, %s)", [job, attempt])
    finally:
        sleeper.join()


def test_a_dump_of_a_database_with_live_batches_is_restored(db, conn):
    for turn in range(3):
        enqueue_batch(conn, [{"kind": "child"}] * 3, session="s")
    deep = enqueue_batch(conn, [{"kind": "child"}])
    scalar(conn, "SELECT turnstile.enqueue_batch('parent', parent => %s, children => '[{\"kind\": \"child\"}]')", [deep])
    enqueue(conn, "late", after=[deep])
    runs = claim(conn, most=2)
    conn.execute("UPDATE turnstile.job SET priority = 3 WHERE id = %s", [deep])
    dump = subprocess.run(["pg_dump", "-Fp", db.name], capture_output=True, text=True, check=True).stdout
    target = db.name + "_r"
    conn.execute(f"CREATE DATABASE {target} TEMPLATE template0")
    try:
        done = subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", target], input=dump, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with psycopg.connect(dbname=target, autocommit=True) as there:
            for job, attempt, _ in runs:
                there.execute("SELECT turnstile.complete(%s, %s)", [job, attempt])
            for _ in range(300):
                for job, attempt, kind in claim(there):
                    there.execute("SELECT turnstile.complete(%s, %s)", [job, attempt])
                if there.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,):
                    break
            left = "SELECT count(*) FROM turnstile.job"
            assert there.execute(left).fetchone() == (0,)
            assert there.execute("SELECT * FROM turnstile.check()").fetchall() == []
    finally:
        conn.execute(f"DROP DATABASE {target} WITH (FORCE)")
