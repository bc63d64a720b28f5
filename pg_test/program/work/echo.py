"""A long-lived command that answers each job with its id, after as many milliseconds as the payload says."""

import json
import sys
import time

for line in sys.stdin:
    job = json.loads(line)
    time.sleep(job["payload"].get("milliseconds", 0) / 1000)
    print(json.dumps({"id": job["id"], "attempt": job["attempt"], "status": "complete", "result": job["id"]}), flush=True)
