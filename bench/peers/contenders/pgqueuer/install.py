import asyncio
import sys
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import asyncpg
from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment, QueryQueueBuilder
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from peers.python import address, build, statement

MANAGER = "'00000000-0000-0000-0000-000000000001'"
HEARTBEAT = "'30 seconds'"


def dequeue(size: str) -> str:
    composed = QueryQueueBuilder().build_dequeue_query(
        batch_size=1,
        entrypoints=["bench"],
        concurrency_limits=[0],
        queue_manager_id=None,
        global_concurrency_limit=None,
        heartbeat_timeout=timedelta(seconds=30),
    )
    assert len(composed.args) == 4, "the dequeue takes other arguments than were known"
    return statement(composed.sql, size, "'{bench}'", MANAGER, HEARTBEAT)


def enqueue(payloads: str, size: str) -> str:
    def alike(value: str) -> str:
        return f"array_fill({value}, ARRAY[{size}])"

    return statement(
        QueryQueueBuilder().build_enqueue_query(),
        alike("0"),
        alike("'bench'::text"),
        payloads,
        alike("interval '0'"),
        alike("NULL::text"),
        alike("NULL::jsonb"),
    )


async def main() -> None:
    connection = await asyncpg.connect(address())
    await Queries(AsyncpgDriver(connection)).install()
    await connection.execute(QueryBuilderEnvironment().build_optimize_autovacuum_query())
    await connection.execute(f"""
        CREATE FUNCTION bench_claim(int) RETURNS SETOF pgqueuer LANGUAGE plpgsql AS $body$
        BEGIN
            RETURN QUERY {dequeue("$1")};
        END
        $body$""")
    await connection.close()


def scripts() -> None:
    done = QueryQueueBuilder().build_log_job_query()
    build("work.pgbench", dequeue("1"), "\\gset", statement(done, "ARRAY[:id]", "'{successful}'", "'{NULL}'") + ";")
    alike = [f"array_fill('{value}'::text, ARRAY[array_length(:ids::bigint[], 1)])" for value in ("successful", "null")]
    build(
        "work_many.pgbench",
        "SELECT array_agg(id) AS ids, string_agg(payload::text, '') AS payloads FROM bench_claim(:n::int)",
        "\\gset",
        statement(done, ":ids", *alike) + ";",
    )
    build("enqueue.pgbench", enqueue("ARRAY[convert_to(:payload, 'UTF8')]", "1") + ";")
    build(
        "enqueue_many.pgbench",
        "\\if :prepared = 0",
        "SELECT array_fill(convert_to(:payload, 'UTF8'), ARRAY[:n::int]) AS payloads",
        "\\gset",
        "\\set prepared 1",
        "\\endif",
        enqueue(":payloads", ":n::int") + ";",
    )


asyncio.run(main())
scripts()
