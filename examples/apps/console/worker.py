"""Runs commands on devices: one at a time on each, on hundreds of devices at once."""

import asyncio
import os
import shlex
from subprocess import PIPE, STDOUT

from turnstile_client import AsyncWorker, Discard, Retry

# What runs a command on a device: it is given the name of the device and the command.
SHELL = shlex.split(os.environ.get("DEVICE_SHELL", "ssh -o BatchMode=yes"))
# So says ssh where there is no connection.
AWAY = 255

# A command that is cancelled should end within a second.
worker = AsyncWorker(os.environ["DATABASE_URL"], queues=["devices"], concurrency=200, heartbeat=1)


@worker.handler("command")
async def command(run):
    process = await asyncio.create_subprocess_exec(*SHELL, run.job.session, run.payload["command"], stdout=PIPE, stderr=STDOUT)
    run.on_stop(process.terminate)
    output = (await process.communicate())[0].decode(errors="replace")
    run.check()
    if process.returncode == AWAY:
        raise Retry(f"away: {output}")
    if process.returncode:
        raise Discard(f"exit status {process.returncode}: {output}")
    return output


if __name__ == "__main__":
    asyncio.run(worker.run())
