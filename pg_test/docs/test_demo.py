"""The demo of batches comes to its end, and its checker finds nothing."""

import os
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "demo"
FEW = ["--devices", "300", "--workers", "12", "--seconds", "0.02", "--slow", "0.2"]


def test_the_story_of_the_batches_holds(db):
    command = [sys.executable, str(DEMO / "batch.py"), *FEW]
    environment = os.environ | {"PGDATABASE": db.name, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.count("\nok ") == 5
