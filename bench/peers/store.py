"""Results as JSON: one file, a scenario at a time, so that an interrupted run loses nothing."""

import json
import os
from pathlib import Path


class Store:
    def __init__(self, file: Path, goes_on: bool):
        self.file = file
        self.data = json.loads(file.read_text()) if goes_on and file.exists() else {"scenarios": {}}

    def describe(self, **facts) -> None:
        self.data |= facts
        self._save()

    def keep(self, scenario: str, result: dict, some_contenders: bool = False) -> None:
        """`some_contenders`: the rows of the others stay, if they were measured at the same points."""
        old = self.data["scenarios"].get(scenario, {})
        if some_contenders and "rows" in result and old.get("points") == result["points"]:
            for part in ("rows", "series"):
                result[part] = old[part] | result[part]
        self.data["scenarios"][scenario] = result
        self._save()

    def has(self, scenario: str) -> bool:
        return self.data["scenarios"].get(scenario, {}).get("complete", False)

    def _save(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_suffix(".new")
        draft.write_text(json.dumps(self.data, indent=1))
        os.replace(draft, self.file)
