import asyncio
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import awa

from peers.python import Bench, address, ready, stamp


async def main() -> None:
    client = awa.AsyncClient(address())

    @client.task(Bench, queue="bench")
    async def bench(job) -> None:
        stamp(job.args.number)

    await client.start([("bench", 64)])
    ready()
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    os._exit(0)


asyncio.run(main())
