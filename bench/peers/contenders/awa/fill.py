import asyncio
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import awa

from peers.python import Bench, address


async def main() -> None:
    client = awa.AsyncClient(address())
    data = json.loads(os.environ["PAYLOAD"])["data"]
    left = int(os.environ["LAST"]) - int(os.environ["FIRST"]) + 1
    while left > 0:
        jobs = [Bench(0, data)] * min(left, 5_000)
        await client.enqueue_many_copy(jobs, queue="bench")
        left -= len(jobs)


asyncio.run(main())
