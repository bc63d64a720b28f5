"""Runs the jobs of one pool. usage: worker.py mail | rest"""

import sys

from jobs import HANDLERS, RETRY
from models import DATABASE
from turnstile_client import Worker

# Mail waits for others, and is sent by many threads; the rest keeps the database busy.
POOLS = {"mail": {"queues": ["mail"], "concurrency": 16}, "rest": {"queues": ["*"], "concurrency": 2}}

if __name__ == "__main__":
    Worker(DATABASE, HANDLERS, retry=RETRY, **POOLS[sys.argv[1]]).run()
