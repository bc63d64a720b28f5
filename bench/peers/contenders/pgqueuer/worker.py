import asyncio
import json
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import asyncpg
from pgqueuer import PgQueuer

from peers.python import STAMPS, address, ready, stamp, stop_at_once


async def main() -> None:
    logging.disable(logging.CRITICAL)
    stop_at_once()
    connection = await asyncpg.connect(address())
    queuer = PgQueuer.from_asyncpg_connection(connection)

    @queuer.entrypoint("bench")
    async def bench(job) -> None:
        if STAMPS:
            stamp(json.loads(job.payload).get("number", 0))

    ready()
    await queuer.run(batch_size=10 if STAMPS else 100)


asyncio.run(main())
