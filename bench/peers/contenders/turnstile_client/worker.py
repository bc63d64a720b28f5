import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from lib.project import ROOT

from peers.python import address, ready

WORKER = ROOT / "target" / "release" / "examples" / "no_op"
JOBS = "1000"

ready()
os.execve(WORKER, [WORKER.name, JOBS], os.environ | {"DATABASE_URL": address()})
