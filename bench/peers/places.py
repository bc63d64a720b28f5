"""Where the comparison keeps its things."""

from pathlib import Path

from lib.project import ROOT

HERE = Path(__file__).resolve().parent
CONTENDERS = HERE / "contenders"
METHOD = HERE / "method.md"
RESTART = HERE / "restart.md"
FETCHED = ROOT / "target" / "peers"
BUILT = FETCHED / "built"
RESULTS = ROOT / "target" / "bench"
DOCS = ROOT / "docs"
