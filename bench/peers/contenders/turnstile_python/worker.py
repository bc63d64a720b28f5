import asyncio
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from lib.project import ROOT

from peers.python import STAMPS, address, ready, stamp

sys.path.insert(0, str(ROOT / "clients" / "python" / "src"))

from turnstile_client import AsyncWorker


async def bench(run) -> None:
    if STAMPS:
        stamp(run.payload.get("number", 0))


logging.disable(logging.CRITICAL)
ready()
asyncio.run(AsyncWorker(address(), {"bench": bench}, concurrency=400).run())
