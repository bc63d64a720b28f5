"""The console of an operator of devices.

usage: console.py send DEVICE COMMAND [--urgent]
       console.py list DEVICE                     commands and what they wait for, or what came of them
       console.py cancel ID | urgent ID
       console.py hold DEVICE | go-on DEVICE      no command starts meanwhile
"""

import argparse
import os

import psycopg
from turnstile_client import enqueue

QUEUE, URGENT = "devices", -10
LIST = """
SELECT id, state, payload ->> 'command', coalesce(result #>> '{}', errors -> -1 ->> 'error', '')
FROM turnstile.my_jobs
WHERE queue = %s AND session = %s
ORDER BY finished_at, state = 'running' DESC, priority, id
"""
WAITS = {"available", "retryable"}


def send(db, device, command, urgent):
    print(enqueue(db, "command", {"command": command}, queue=QUEUE, session=device, priority=URGENT if urgent else 0).id)


def show(db, device):
    for id, state, command, detail in db.execute(LIST, [QUEUE, device]):
        about = why(db, id) if state in WAITS else detail.strip()
        print(f"{id:>6}  {state:<10} {command:<20} {about}")


def why(db, id):
    return " ".join(detail for (detail,) in db.execute("SELECT detail FROM turnstile.why_waiting_many(ARRAY[%s]::bigint[])", [id]))


def cancel(db, id):
    print(*db.execute("SELECT turnstile.cancel(%s)", [id]).fetchone())


def urgent(db, id):
    db.execute("SELECT turnstile.reprioritize(%s, %s)", [id, URGENT])


def hold(db, device):
    db.execute("SELECT turnstile.pause_session(%s, NULL, %s)", [QUEUE, device])


def go_on(db, device):
    db.execute("SELECT turnstile.resume_session(%s, NULL, %s)", [QUEUE, device])


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    verbs = parser.add_subparsers(required=True)

    def add(name, function, *operands):
        verb = verbs.add_parser(name)
        verb.set_defaults(function=function)
        for operand in operands:
            verb.add_argument(operand)
        return verb

    add("send", send, "device", "command").add_argument("--urgent", action="store_true")
    add("list", show, "device")
    add("cancel", cancel, "id")
    add("urgent", urgent, "id")
    add("hold", hold, "device")
    add("go-on", go_on, "device")
    return vars(parser.parse_args())


if __name__ == "__main__":
    given = arguments()
    function = given.pop("function")
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as db:
        function(db, **given)
