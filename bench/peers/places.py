"""Where the comparison keeps its things."""

from pathlib import Path

from lib.project import ROOT

HERE = Path(__file__).resolve().parent
CONTENDERS = HERE / "contenders"
METHOD = HERE / "method.md"
RESTART = HERE / "restart.md"
FETCHED = ROOT / "target" / "peers"
BUILT = FETCHED / "built"
DOCS = ROOT / "docs"
# Beside the plots, so that the page can be written again, and measured in part, from what is in the repository.
FULL_RESULTS = DOCS / "benchmarks" / "results.json"
QUICK_RESULTS = ROOT / "target" / "bench" / "compare-quick" / "results.json"
