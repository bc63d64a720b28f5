"""Arguments that make no sense, by type, as SQL; and calls of every function of the catalog made of them."""

import contextlib
import random

import psycopg

FUNCTIONS = """
SELECT p.oid::regproc::text, p.prokind = 'p', p.pronargs - p.pronargdefaults,
    coalesce((SELECT array_agg(replace(format_type(t, NULL), 'anyelement', 'integer') ORDER BY n)
              FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY a (t, n)), '{}'),
    coalesce(p.proargnames[:p.pronargs], '{}')
FROM pg_proc p
WHERE p.pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) AND p.prorettype <> 'trigger'::regtype
ORDER BY 1, 4
"""

_TEXT = [
    "NULL", "''", "' '", "'x'", "'*'", "'default'", "'NULL'", "repeat('x', 255)", "repeat('x', 256)", "repeat('é', 128)",
    "chr(1)", "chr(127)", "chr(1114111)", "'%s $1 {}'", "'a''b\\c'", "E'line\\nline'", "'until_executed'", "'replace'",
    "'while_executing'", "42::text", "'infinity'",
]  # fmt: skip
_JSON = [
    "NULL", "'null'", "'{}'", "'[]'", "'1'", "'\"x\"'", "'true'", "'[null]'", "'[[]]'", "'[{}]'", "'1e300'", "'-0'",
    r"""'{"a":"\u0000"}'""", r"""'{"\u0001":"\ud83d\ude00"}'""", "(repeat('[', 900) || repeat(']', 900))",
    """'[{"kind":"x"},{"kind":""}]'""", """'[{"kind":null}]'""", """'{"kind":"x"}'""", "'{'",
]  # fmt: skip
_INTEGER = ["NULL", "0", "1", "-1", "2", "7", "100", "'1'", "'x'", "'1.5'", "2147483647", "-2147483648"]
VALUES = {
    "text": _TEXT,
    "jsonb": _JSON,
    "integer": _INTEGER,
    "bigint": [*_INTEGER, "9223372036854775807", "-9223372036854775808", "(SELECT max(id) FROM turnstile.job)",
               "(SELECT min(id) FROM turnstile.job WHERE state = 'running')", "(SELECT max(id) FROM turnstile.job_history)"],
    "boolean": ["NULL", "true", "false", "'maybe'"],
    "double precision": ["NULL", "0", "-1", "'NaN'", "'infinity'", "'-infinity'", "1e308", "1e-308"],
    "numeric": ["NULL", "0", "-1", "'NaN'", "'infinity'", "'-infinity'", "1e1000", "1e-1000"],
    "interval": ["NULL", "'0'", "'1 second'", "'-1 second'", "'1 microsecond'", "'178000000 years'", "'-178000000 years'",
                 "'1 month -30 days'", "'2147483647 days'", "'x'"],
    "timestamp with time zone": ["NULL", "'infinity'", "'-infinity'", "'epoch'", "'294276-12-31'", "'4713-01-01 BC'",
                                 "now()", "now() + '1 second'", "'x'"],
    "text[]": ["NULL", "'{}'", "'{NULL}'", "'{\"\"}'", "'{default}'", "'{default,default}'", "'{{a,b},{c,d}}'", "'[5:6]={a,b}'",
               "array_fill('default'::text, '{300}')"],
    "bigint[]": ["NULL", "'{}'", "'{NULL}'", "'{1}'", "'{1,1}'", "'{{1,2},{3,4}}'", "'[5:6]={1,2}'", "'{9223372036854775807}'",
                 "array_fill(1::bigint, '{300}')", "(SELECT array_agg(id) FROM turnstile.job)"],
    "integer[]": ["NULL", "'{}'", "'{NULL}'", "'{1}'", "'{1,1}'", "'{{1,2},{3,4}}'", "'[5:6]={1,2}'", "array_fill(1, '{300}')"],
}  # fmt: skip
# Seldom, as each costs as much as hundreds of the others.
HUGE = {
    "text": ["repeat('x', 3000000)"],
    "jsonb": ["to_jsonb(repeat('x', 3000000))", "(SELECT jsonb_agg(1) FROM generate_series(1, 200000))",
              "(repeat('[', 100000) || repeat(']', 100000))",
              "(SELECT jsonb_object_agg(n, n) FROM generate_series(1, 50000) n)"],
    "text[]": ["array_fill('default'::text, '{1000000}')", "array_fill(repeat('x', 255), '{10000}')"],
    "bigint[]": ["array_fill(1::bigint, '{1000000}')"],
    "integer[]": ["array_fill(1, '{1000000}')"],
}  # fmt: skip

# A job that almost makes sense: as an element for enqueue_many, and as a row.
_FIELDS = ["kind", "payload", "queue", "tenant", "account", "session", "concurrency_key", "priority", "run_at", "max_attempts",
           "unique_key", "unique_mode", "unique_for", "metadata", "stranger"]  # fmt: skip


def value(chance: random.Random, type_name: str, huge: float = 0.0) -> str:
    """An expression of this type, as far as nonsense has one."""
    pool = HUGE.get(type_name) if chance.random() < huge else None
    if type_name == "jsonb" and chance.random() < 0.3:
        return f"{_jobs(chance)}::jsonb"
    expression = chance.choice(pool or VALUES.get(type_name, ["NULL", "'x'", "''"]))
    return f"({expression})::{type_name}"


def _jobs(chance: random.Random) -> str:
    """An array of objects with keys of jobs, and any values."""
    scalars = ["null", "1", "-1", "1e99", "true", '"x"', '""', '"default"', "[]", "{}", '"infinity"', '"1 day"', "2147483648"]
    elements = []
    for _ in range(chance.randint(1, 3)):
        names = ["kind", *chance.sample(_FIELDS, chance.randint(0, 4))]
        elements.append("{" + ", ".join(f'"{name}": {chance.choice(scalars)}' for name in names) + "}")
    return "'[" + ", ".join(elements) + "]'"


def call(chance: random.Random, function: tuple, huge: float = 0.0) -> str:
    """A call of the function with nonsense in all of its places, or in some of those that have a default."""
    name, is_procedure, required, types, names = function
    given = [n for n in range(len(types)) if n < required or chance.random() < 0.5]
    arguments = []
    for number in given:
        named = f"{names[number]} => " if len(names) == len(types) and names[number] else ""
        arguments.append(named + value(chance, types[number], huge))
    return f"{'CALL' if is_procedure else 'SELECT * FROM'} {name}({', '.join(arguments)})"


def row(chance: random.Random) -> str:
    """An INSERT or UPDATE of a job with nonsense in some columns."""
    types = {"kind": "text", "queue": "text", "tenant": "text", "session": "text", "priority": "integer", "state": "text",
             "run_at": "timestamp with time zone", "attempt": "integer", "max_attempts": "integer", "payload": "jsonb",
             "lease_expires_at": "timestamp with time zone", "position": "bigint", "uncounted": "integer"}  # fmt: skip
    columns = ["kind", *chance.sample(list(types), chance.randint(1, 4))]
    columns = list(dict.fromkeys(columns))
    values = [value(chance, types[column]) for column in columns]
    if chance.random() < 0.5:
        return f"INSERT INTO turnstile.job ({', '.join(columns)}) VALUES ({', '.join(values)})"
    changes = ", ".join(f"{column} = {new}" for column, new in zip(columns, values, strict=True))
    return f"UPDATE turnstile.job SET {changes} WHERE id = (SELECT min(id) + {chance.randint(0, 9)} FROM turnstile.job)"


def end(conn: psycopg.Connection, chance: random.Random, undone: float) -> None:
    """Ends the transaction. A run that claim_own started and that goes on keeps it from being committed: it is undone."""
    with contextlib.suppress(psycopg.errors.ObjectNotInPrerequisiteState):
        conn.execute("ROLLBACK" if chance.random() < undone else "COMMIT")
