import asyncio
import json
import os
import sys
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import awa

from peers.python import Bench, address


async def main() -> None:
    client = awa.AsyncClient(address())
    data = json.loads(os.environ["PAYLOAD"])["data"]
    jobs = [Bench(0, data)] * int(os.environ["JOBS"])
    done = 0

    async def produce() -> None:
        nonlocal done
        while monotonic() < ends:
            await client.enqueue_many_copy(jobs, queue="bench")
            done += len(jobs)

    begun = monotonic()
    ends = begun + int(os.environ["SECONDS"])
    await asyncio.gather(*(produce() for _ in range(int(os.environ["CLIENTS"]))))
    print(done, monotonic() - begun)


asyncio.run(main())
