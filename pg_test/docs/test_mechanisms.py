"""Each mechanism that a test build can leave out has a guard: a quick test, as the guards themselves run long."""

import re
from pathlib import Path

from mutants.guards import GUARDS

ROOT = Path(__file__).resolve().parents[2]


def test_every_mechanism_has_a_guard():
    source = (ROOT / "src/pg/seeded.rs").read_text()
    body = re.search(r"pub enum Seeded \{(.*?)\n\}", source, re.DOTALL)[1]
    assert re.findall(r"^    (\w+),$", body, re.MULTILINE) == list(GUARDS)
