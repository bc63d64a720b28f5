"""A long-lived command for the tests: does with each job what its payload says."""

import json
import os
import signal
import sys
import time

answered = 0
before = {}
in_hand = []
seen = []


def say(**answer) -> None:
    print(json.dumps(answer), flush=True)


for line in sys.stdin:
    job = json.loads(line)
    run = {"id": job["id"], "attempt": job["attempt"]}
    match job["kind"]:
        case "work":
            say(**run, status="complete", result={"pid": os.getpid(), "answered": answered, "job": job})
        case "again":
            say(**before, status="complete")
            say(**run, status="complete")
        case "together":
            in_hand.append(run)
            if len(in_hand) == job["payload"]["jobs"]:
                for each in reversed(in_hand):
                    say(**each, status="complete", result=os.getpid())
        case "answer":
            say(**run, **job["payload"])
        case "raw":
            sys.stdout.write(job["payload"]["text"].replace("ID", str(job["id"])))
            sys.stdout.flush()
        case "parent" | "waits_again":
            seen.append(job["children"])
            while not os.path.exists(job["payload"]["go"]):
                time.sleep(0.01)
            is_told = job["kind"] == "parent" and job["children"]
            say(**run, status="complete", result=seen) if is_told else say(**run, status="await_children")
        case "error":
            print("a bug", file=sys.stderr, flush=True)
            sys.exit(3)
        case "hang":
            time.sleep(1000)
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(1000)
        case "last_word":
            signal.signal(signal.SIGTERM, lambda *_: (say(**run, status="complete", result="in time"), sys.exit(0)))
            time.sleep(1000)
    before = run
    answered += 1
