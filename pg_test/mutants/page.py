"""The table of mechanisms in docs/testing.md, made of src/seeded.rs and the guards.

python pg_test/mutants/page.py writes it into the page; a test compares.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mutants.guards import GUARDS  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- made by pg_test/mutants/page.py -->\n", "<!-- end -->\n"


def mechanisms() -> dict[str, str]:
    """What the enum Seeded lists, and what happens without each."""
    (source,) = (ROOT / "src").rglob("seeded.rs")
    body = re.search(r"pub enum Seeded \{(.*?)\n\}", source.read_text(), re.DOTALL)[1]
    found = re.findall(r"((?:    ///.*\n)+)    (\w+),", body)
    return {name: " ".join(line.strip(" /") for line in meaning.splitlines()) for meaning, name in found}


def table() -> str:
    lines = ["| left out | what then happens | guard |", "|---|---|---|"]
    lines += [f"| `{name}` | {meaning} | `{GUARDS[name]}` |" for name, meaning in mechanisms().items()]
    return "\n".join(lines) + "\n"


def in_page() -> str:
    return PAGE.read_text().split(BEGIN)[1].split(END)[0]


def main() -> None:
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
