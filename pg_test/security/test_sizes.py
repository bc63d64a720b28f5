"""What is too large is an error for who sends it, before Rust is asked for memory: there its lack ends the server."""

import re

import pytest

from support.calls import call, claim_next, complete, complete_many, enqueue, enqueue_many
from support.errors import TOO_LONG

TEN_MILLION = 10_000_000
# Of the address space, well below what ten million elements take and above what a statement needs.
ARRAYS = {
    "claim": "SELECT * FROM turnstile.claim(array_fill('q'::text, '{%s}'))",
    "claim that waits": "SELECT * FROM turnstile.claim(array_fill('q'::text, '{%s}'), wait => '1 second')",
    "claim, NULLs": "SELECT * FROM turnstile.claim(array_fill(NULL::text, '{%s}'))",
    "claim, in two dimensions": "SELECT * FROM turnstile.claim(array_fill('q'::text, '{2,%s}'))",
    "wait_for_job": "CALL turnstile.wait_for_job(array_fill('q'::text, '{%s}'), '0')",
    "complete_many, ids": "SELECT turnstile.complete_many(array_fill(1::bigint, '{%s}'), '{1}')",
    "complete_many, attempts": "SELECT turnstile.complete_many('{1}', array_fill(1, '{%s}'))",
    "complete_many, NULLs": "SELECT turnstile.complete_many(array_fill(NULL::bigint, '{%s}'), '{1}')",
    "enqueue_many": "SELECT turnstile.enqueue_many((SELECT jsonb_agg('{}'::jsonb) FROM generate_series(1, %s)))",
    "enqueue_many, numbers": "SELECT turnstile.enqueue_many((SELECT jsonb_agg(1) FROM generate_series(1, %s)))",
    "unique_by": "SELECT turnstile.enqueue('work', unique_by => array_fill('kind'::text, '{%s}'))",
    "unique_by of an element": "SELECT turnstile.enqueue_many(jsonb_build_array(jsonb_build_object('kind', 'work',"
    " 'unique_by', (SELECT jsonb_agg('kind'::text) FROM generate_series(1, %s)))))",
}  # fmt: skip
LONG = {
    "a queue": "SELECT * FROM turnstile.claim(ARRAY[repeat('q', 20000000)])",
    "the last of many queues": "SELECT * FROM turnstile.claim(array_fill('q'::text, '{900}') || repeat('q', 20000000))",
    "payload": "SELECT turnstile.enqueue('work', to_jsonb(repeat('x', 20000000)))",
    "metadata": "SELECT turnstile.enqueue('work', metadata => to_jsonb(repeat('x', 20000000)))",
    "payload of an element": "SELECT turnstile.enqueue_many(jsonb_build_array(jsonb_build_object("
    "'kind', 'work', 'payload', repeat('x', 20000000))))",
    "metadata of an element": "SELECT turnstile.enqueue_many(jsonb_build_array(jsonb_build_object("
    "'kind', 'work', 'metadata', repeat('x', 20000000))))",
    "result": "SELECT turnstile.complete(%(id)s, 1, to_jsonb(repeat('x', 20000000)))",
    "result, and on to the next": "SELECT turnstile.complete_and_claim_next(%(id)s, 1, to_jsonb(repeat('x', 20000000)))",
}  # fmt: skip
# 22023: it is no value of those that are allowed; what was sent is cut in the message.
NO_VALUE = {
    "unique_mode": "SELECT turnstile.enqueue('work', unique_key => 'u', unique_mode => repeat('x', 250))",
    "unique_by": "SELECT turnstile.enqueue('work', unique_by => ARRAY[repeat('x', 100000)])",
    "a key": "SELECT turnstile.enqueue_many(jsonb_build_array(jsonb_build_object('kind', 'work', repeat('x', 20000000), 1)))",
    "run_at": "SELECT turnstile.enqueue_many(jsonb_build_array(jsonb_build_object('kind', 'work', 'run_at', repeat('x', 20000000))))",
    "state": "SELECT turnstile.cancel_many(state => repeat('x', 20000000))",
}


@pytest.fixture
def run(conn):
    enqueue(conn)
    return claim_next(conn)


@pytest.mark.parametrize("statement", ARRAYS.values(), ids=ARRAYS.keys())
def test_ten_million_elements_are_too_many(conn, intruder, neighbour, statement):
    began = conn.execute("SELECT pg_postmaster_start_time()").fetchone()
    with pytest.raises(Exception) as caught:
        # A jsonb of ten million takes the server seconds to make.
        intruder.connect().execute(statement % (TEN_MILLION if "array_fill" in statement else TEN_MILLION // 10))
    assert caught.value.sqlstate == TOO_LONG, caught.value
    assert caught.value.diag.message_hint
    assert conn.execute("SELECT pg_postmaster_start_time()").fetchone() == began
    neighbour.works()


@pytest.mark.parametrize("statement", LONG.values(), ids=LONG.keys())
def test_what_is_stored_with_a_job_and_its_names_have_a_length(intruder, run, neighbour, statement):
    with pytest.raises(Exception) as caught:
        intruder.connect().execute(statement.replace("%(id)s", str(run.id)))
    assert caught.value.sqlstate == TOO_LONG, caught.value
    neighbour.works()


@pytest.mark.parametrize("statement", NO_VALUE.values(), ids=NO_VALUE.keys())
def test_a_message_repeats_no_more_than_its_beginning(intruder, neighbour, statement):
    with pytest.raises(Exception) as caught:
        intruder.connect().execute(statement)
    assert caught.value.sqlstate == "22023", caught.value
    assert len(str(caught.value)) < 1_000
    neighbour.works()


def test_as_many_as_are_allowed_will_do(conn):
    many = 100_000
    made = conn.execute("SELECT count(*) FROM turnstile.enqueue_many((SELECT jsonb_agg('{\"kind\": \"work\"}'::jsonb)"
                        " FROM generate_series(1, %s)))" % many)  # fmt: skip
    assert made.fetchone()[0] == many
    assert conn.execute("SELECT turnstile.complete_many(array_fill(1::bigint, '{%s}'), array_fill(1, '{%s}'))" % (many, many)).fetchone()[0] == 0
    assert conn.execute("SELECT id FROM turnstile.claim(array_fill('default'::text, '{1000}'))").fetchall()
    conn.execute("DELETE FROM turnstile.job")


def test_the_limit_of_a_jobs_data_is_the_administrators(conn, make_user):
    """turnstile.max_payload, which only a superuser sets; what fits is stored."""
    assert re.fullmatch("1MB", conn.execute("SHOW turnstile.max_payload").fetchone()[0])
    data = {"text": "x" * 1_000_000}
    job_id = enqueue(conn, payload=data, metadata=data)
    [made] = enqueue_many(conn, [{"kind": "work", "payload": data, "metadata": data}])
    for wanted in (job_id, made.id):
        claimed = claim_next(conn)
        assert (claimed.id, claimed.payload, claimed.metadata) == (wanted, data, data)
        assert complete(conn, claimed, result=data)
    assert complete_many(conn, []) == 0
    with pytest.raises(Exception) as caught:
        make_user().connect().execute("SET turnstile.max_payload = '100MB'")
    assert caught.value.sqlstate == "42501"
    assert call(conn, "check") == []
