"""usage: DATABASE_URL=postgresql://localhost/mydb python worker.py [queue]"""

import logging
import os
import sys
import time

from turnstile_client import Worker

logging.basicConfig(level=logging.INFO, stream=sys.stdout)
worker = Worker(os.environ["DATABASE_URL"], queues=sys.argv[1:2] or ["default"])


@worker.handler("*")
def handle(run):
    """Stands for your own work: takes so many seconds, and fails on its first so many attempts."""
    print(f"attempt {run.job.attempt}: {run.payload}", flush=True)
    time.sleep(run.payload.get("seconds", 0))
    if run.job.attempt <= run.payload.get("failures", 0):
        raise RuntimeError("was told to fail")


worker.run()
