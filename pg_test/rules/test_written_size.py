"""turnstile.max_payload counts the digits of numbers: 1e131071 takes a few bytes in a jsonb, and has 131,072 digits as text."""

import json
import random
import re

import psycopg
import pytest
from psycopg.types.json import Jsonb

from support.calls import Run, call, claim_next, complete, complete_and_claim_next, enqueue, enqueue_many
from support.errors import TOO_LONG, refused

HUGE = "1e131071"
# Over 1 MB as text; a jsonb of less than 200 bytes.
NINE = f"[{', '.join([HUGE] * 9)}]"
SIZE = "SELECT pg_column_size(%(json)s::jsonb) - 4"
# The text of the numbers of a document, and what they take: beside the number a word, and up to 3 bytes before it.
NUMBERS = """
    SELECT octet_length(value::text), pg_column_size((value #>> '{}')::numeric) + 4
    FROM jsonb_path_query(%(json)s::jsonb, 'strict $.**') AS value
    WHERE jsonb_typeof(value) = 'number'
"""


def _raw(text: str) -> Jsonb:
    """JSON that no value of Python stands for."""
    return Jsonb(None, dumps=lambda _: text)


def _enqueue(conn, text: str) -> int:
    return conn.execute("SELECT turnstile.enqueue('work', %s)", [_raw(text)]).fetchone()[0]


def _enqueue_many(conn, text: str) -> int:
    return conn.execute("SELECT id FROM turnstile.enqueue_many(%s)", [_raw(text)]).fetchone()[0]


def _running(conn) -> Run:
    enqueue(conn)
    claimed = claim_next(conn)
    return Run(claimed.id, claimed.attempt)


GIVEN = {
    "payload": lambda conn: _enqueue(conn, NINE),
    "metadata": lambda conn: conn.execute("SELECT turnstile.enqueue('work', metadata => %s)", [_raw(NINE)]),
    "payload of an element": lambda conn: _enqueue_many(conn, f'[{{"kind": "work"}}, {{"kind": "work", "payload": {NINE}}}]'),
    "metadata of an element": lambda conn: _enqueue_many(conn, f'[{{"kind": "work", "metadata": {{"a": {NINE}}}}}]'),
    "payload of a parent": lambda conn: conn.execute(
        "SELECT * FROM turnstile.enqueue_batch('work', payload => %s, children => %s)", [_raw(NINE), Jsonb([{"kind": "work"}])]
    ),
    "payload of a child": lambda conn: conn.execute(
        "SELECT * FROM turnstile.enqueue_batch('work', children => %s)", [_raw(f'[{{"kind": "work", "payload": {NINE}}}]')]
    ),
    "with a unique key": lambda conn: conn.execute(
        "SELECT turnstile.enqueue('work', %s, unique_by => '{payload}')", [_raw(NINE)]
    ),
    "result": lambda conn: conn.execute("SELECT turnstile.complete(%s, %s, %s)", [*_running(conn), _raw(NINE)]),
    "result before a claim": lambda conn: conn.execute(
        "SELECT * FROM turnstile.complete_and_claim_next(%s, %s, result => %s)", [*_running(conn), _raw(NINE)]
    ),
    "recurring": lambda conn: conn.execute("SELECT turnstile.schedule('n', '0 3 * * *', 'work', %s)", [_raw(NINE)]),
}  # fmt: skip


@pytest.mark.parametrize("by", GIVEN)
def test_numbers_with_more_digits_than_are_allowed_are_refused(conn, by):
    with refused(TOO_LONG) as caught:
        GIVEN[by](conn)
    assert "is over turnstile.max_payload" in caught.value.diag.message_primary


def test_as_many_digits_as_are_allowed_are_taken(conn):
    """Each is 131,072 digits long, and comes back whole."""
    _enqueue(conn, f"[{', '.join([HUGE] * 7)}]")
    digits = conn.execute("SELECT octet_length(payload::text) FROM turnstile.claim_next('default')").fetchone()[0]
    assert digits == 7 * 131_072 + 7 * 2


FORMS = {
    "alone": "{}", "in an object": '{{"a": {}}}', "in depth": '[[{{"a": [{{"b": {}}}]}}]]', "behind a string": '["x", {}]',
    "behind many": "[" + "1, " * 100 + "{}]", "among keys": '{{"a": "xyz", "b": true, "c": null, "d": {}, "e": []}}',
    "below zero": "-{}",
}  # fmt: skip


@pytest.mark.parametrize("number", [HUGE, "1e-16383"])
@pytest.mark.parametrize("form", FORMS)
def test_one_number_counts_wherever_it_is(conn, form, number):
    text, length = FORMS[form].format(number), 131_072 if number == HUGE else 16_383
    conn.execute(f"SET turnstile.max_payload = {length - 100}")
    with refused(TOO_LONG):
        _enqueue(conn, text)
    conn.execute(f"SET turnstile.max_payload = {length + 2000}")
    _enqueue(conn, text)


@pytest.mark.parametrize("beside", ["", "x" * 100, "x" * 100_000])
def test_a_value_that_comes_from_a_table_counts_the_same(conn, beside):
    """There it has a short header, or is compressed, or lies elsewhere."""
    conn.execute("CREATE TEMP TABLE kept (json jsonb)")
    conn.execute("INSERT INTO kept VALUES (%s)", [_raw(f'["{beside}", {HUGE}]')])
    conn.execute("SET turnstile.max_payload = '120kB'")
    with refused(TOO_LONG):
        conn.execute("SELECT turnstile.enqueue('work', json) FROM kept")
    conn.execute("SET turnstile.max_payload = '240kB'")
    conn.execute("SELECT turnstile.enqueue('work', json) FROM kept")


ORDINARY = {
    "whole": list(range(-1000, 1000)), "zeros": [0] * 1000, "fractions": [each / 7 for each in range(1000)], "small": [0.00001] * 1000,
    "large": [10**12 + each for each in range(1000)], "money": [each + 0.01 for each in range(1000)],
    "digits": [10**100 - 1] * 1000, "times": [1_700_000_000_123_456] * 100, "text": "1e131071" * 100,
}  # fmt: skip


@pytest.mark.parametrize("by", ["enqueue", "enqueue_many", "complete", "complete_and_claim_next"])
@pytest.mark.parametrize("which", ORDINARY)
def test_ordinary_numbers_take_no_more_than_before(conn, which, by):
    value = ORDINARY[which]
    run = _running(conn)
    size = conn.execute(SIZE, {"json": json.dumps(value)}).fetchone()[0]
    conn.execute(f"SET turnstile.max_payload = {size}")
    if by == "enqueue":
        enqueue(conn, payload=value)
    elif by == "enqueue_many":
        enqueue_many(conn, [{"kind": "work", "payload": value}])
    elif by == "complete":
        complete(conn, run, result=value)
    else:
        complete_and_claim_next(conn, run, result=value)


def _number(rng) -> str:
    digits = str(rng.randrange(10 ** rng.choice([1, 2, 4, 5, 20, 300])))
    point = rng.choice(["", "", f".{'0' * rng.randrange(100)}{rng.randrange(10**6)}"])
    power = rng.choice(["", "", f"e{rng.randrange(-300, 300)}", f"e{rng.randrange(-16_000, 131_000)}"])
    return f"{rng.choice(['', '-'])}{digits}{point}{power if len(digits + point) < 30 else ''}"


def _document(rng, depth: int = 0) -> str:
    kind = rng.choice(["number", "number", "other", "array", "object"] if depth < 6 else ["number", "other"])
    if kind == "number":
        return _number(rng)
    if kind == "other":
        return json.dumps(rng.choice(["", "x" * rng.randrange(200), "é", True, False, None, [], {}]))
    parts = [_document(rng, depth + 1) for _ in range(rng.choice([1, 3, 3, 70]) if depth < 3 else rng.randrange(4))]
    if kind == "array":
        return f"[{', '.join(parts)}]"
    return "{" + ", ".join(f'"{rng.randrange(10**9)}": {part}' for part in parts) + "}"


def _counted(conn, text: str, size: int) -> int:
    """What the refusal says where nothing but the jsonb itself is allowed."""
    conn.execute(f"SET turnstile.max_payload = {size}")
    try:
        _enqueue(conn, text)
    except psycopg.Error as error:
        assert error.sqlstate == TOO_LONG, error
        found = re.fullmatch(r"It has (\d+) bytes with all digits of its numbers; \d+ are allowed\.", error.diag.message_detail)
        assert found, error.diag.message_detail
        return int(found[1])
    return size


def test_what_is_counted_is_what_the_text_has(conn, seed):
    """In random documents: of each number, the digits beyond two for each byte that it takes."""
    rng = random.Random(seed)
    for _ in range(60):
        text = f"[{_document(rng)}, {json.dumps('x' * 64)}]"
        size = conn.execute(SIZE, {"json": text}).fetchone()[0]
        numbers = conn.execute(NUMBERS, {"json": text}).fetchall()
        hidden = _counted(conn, text, size) - size
        least = sum(max(0, length - 2 - 2 * (taken + 3)) for length, taken in numbers)
        most = sum(max(0, length + 3 - 2 * taken) for length, taken in numbers)
        assert least <= hidden <= most, text
        # So no text is much longer than what is allowed.
        length = conn.execute("SELECT octet_length(%s::jsonb::text)", [text]).fetchone()[0]
        assert length <= 6 * (size + hidden), text
    assert call(conn, "check") == []
