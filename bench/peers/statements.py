"""A load's statements, run one by one for what pgbench cannot do: note when exactly a commit is done."""

import json
import re
from pathlib import Path

import psycopg

_VARIABLE = re.compile(r"(?<![:\w]):([a-z_]\w*)")


class Statements:
    def __init__(self, script: Path):
        self.steps: list[tuple[str, bool]] = []
        text = []
        for line in script.read_text().splitlines():
            if line.startswith("\\"):
                if line == "\\gset":
                    self._add(text, keeps=True)
                continue
            text.append(line)
            if line.rstrip().endswith(";"):
                self._add(text, keeps=False)
        self._add(text, keeps=False)

    def _add(self, text: list[str], keeps: bool) -> None:
        statement = "\n".join(text).strip().rstrip(";")
        if statement:
            self.steps.append((_VARIABLE.sub(r"%(\1)s", statement.replace("%", "%%")), keeps))
        text.clear()

    def run(self, connection: psycopg.Connection, **variables) -> None:
        for statement, keeps in self.steps:
            cursor = connection.execute(statement, variables)
            if keeps:
                names = [column.name for column in cursor.description]
                variables |= dict(zip(names, map(_as_text, cursor.fetchone()), strict=True))


def _as_text(value):
    """JSON goes back as it came."""
    return json.dumps(value) if isinstance(value, dict | list) else value
