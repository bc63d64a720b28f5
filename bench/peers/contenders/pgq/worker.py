import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from peers import loop

SETTINGS = """[pgqd]
base_connstr = host={PGHOST} port={PGPORT} user={PGUSER}
database_list = {PGDATABASE}
pidfile = {folder}/pgqd.pid
logfile = {folder}/pgqd.log
"""


def start_ticker() -> None:
    folder = Path(os.environ["BUILT"])
    (folder / "pgqd.pid").unlink(missing_ok=True)
    settings = folder / "pgqd.ini"
    settings.write_text(SETTINGS.format(folder=folder, **os.environ))
    # The driver ends it together with this process: both are of one group.
    subprocess.Popen(["pgqd", "-q", str(settings)])


def step(connection, _: int) -> int:
    with connection.transaction():
        batch = connection.execute("SELECT pgq.next_batch('bench', 'bench')").fetchone()[0]
        if batch is None:
            return 0
        events = connection.execute("SELECT ev_data FROM pgq.get_batch_events(%s)", [batch]).fetchall()
        for (data,) in events:
            loop.handle(json.loads(data))
        connection.execute("SELECT pgq.finish_batch(%s)", [batch])
    return 1


start_ticker()
loop.run(step, lambda _: time.sleep(0.1), threads=1)
