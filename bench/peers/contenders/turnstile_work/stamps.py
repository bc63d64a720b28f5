import json
import os
import sys
import time

STAMPS_GO_TO = 3

for line in sys.stdin:
    began = time.time()
    job = json.loads(line)
    os.write(STAMPS_GO_TO, f"{job['payload'].get('number', 0)} {began:.6f}\n".encode())
    print(json.dumps({"id": job["id"], "attempt": job["attempt"], "status": "complete"}), flush=True)
