"""Shared parts of the benchmarks.

The scripts need psycopg. Importing this package goes on under the project's own Python if this one lacks it.
"""

import importlib.util
import os
import sys
from pathlib import Path

from lib.project import PROJECT_PYTHON


def _go_on_under_project_python() -> None:
    if importlib.util.find_spec("psycopg"):
        return
    already_there = Path(sys.prefix) == PROJECT_PYTHON.parents[1]
    if already_there or not PROJECT_PYTHON.exists():
        sys.exit("psycopg is missing; run: make setup")
    os.execv(PROJECT_PYTHON, [str(PROJECT_PYTHON), *sys.argv])


_go_on_under_project_python()
