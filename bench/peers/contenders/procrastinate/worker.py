import asyncio
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import procrastinate

from peers.python import ready, stamp

app = procrastinate.App(connector=procrastinate.PsycopgConnector())


@app.task(name="bench")
async def bench(number: int = 0, data: str = "") -> None:
    stamp(number)


async def main() -> None:
    logging.disable(logging.CRITICAL)
    async with app.open_async():
        ready()
        await app.run_worker_async(concurrency=24)


asyncio.run(main())
