import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))

from lib.project import ROOT

from peers.python import STAMPS, address, ready

BUILT = ROOT / "target" / "release"
JOBS, JOBS_EACH = "400", "200"
# Where its commands tell the driver when a job began: their standard output is the program's.
STAMPS_GO_TO = 3

command = [sys.executable, str(HERE / "stamps.py")] if STAMPS else [str(BUILT / "examples" / "completes")]
os.dup2(1, STAMPS_GO_TO, inheritable=True)
ready()
os.execv(
    BUILT / "turnstile",
    ["turnstile", "work", "-d", address(), "--concurrency", JOBS, "--persistent", "--jobs-each", JOBS_EACH, "--", *command],
)
