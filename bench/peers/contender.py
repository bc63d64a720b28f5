"""A contender: a folder with what it is, its SQL, its installation and its worker.

Files that a folder may have; what is missing the contender cannot do:

* `contender.toml`: what it is, how it is driven, what it cannot do and why
* `install.sql`, `.sh`, `.py`, `.mjs`: run in this order in an empty database; may write scripts to `$BUILT`
* `fill.sql` or `fill.py`: adds the jobs number `first` to `last`; `waiting.sql`: counts those that wait
* `enqueue`, `enqueue_many`, `work`, `work_in_one_call`, `work_many` (`.pgbench`): the loads
* `settle.sql`: finishes what an interrupted load has left; `worker.py`, `worker.mjs`: its own worker

A folder within it, such as `sessions`, has files that differ in that scenario. What a contender is `like` has the files that it
does not have itself; the `scenarios` that it names are the only ones in which it takes part; a scenario may name who takes part in it, too.
"""

import os
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from peers.places import BUILT, CONTENDERS, FETCHED

ORDER = (
    "turnstile",
    "turnstile_not_durable",
    "turnstile_no_history",
    "turnstile_full_pages",
    "bare",
    "bare_from_json",
    "bare_deleted",
    "pgmq",
    "pgq",
    "graphile_worker",
    "pg_boss",
    "procrastinate",
    "pgqueuer",
    "awa",
    "tenant_query",
    "session_query",
    "same_row",
    "turnstile_work",
    "turnstile_client",
    "turnstile_python",
    "turnstile_node",
)
REFERENCE = "bare"


@dataclass(frozen=True)
class Contender:
    name: str

    @property
    def folder(self) -> Path:
        return CONTENDERS / self.name

    @cached_property
    def facts(self) -> dict:
        return tomllib.loads((self.folder / "contender.toml").read_text())

    @property
    def title(self) -> str:
        return self.facts["title"]

    def is_in(self, scenario: str) -> bool:
        return scenario in self.facts.get("scenarios", [scenario])

    @property
    def is_peer(self) -> bool:
        return self.facts["package"] not in ("none", "this repository")

    @property
    def database(self) -> str:
        return f"bench_{self.name}"

    @property
    def built(self) -> Path:
        return BUILT / self.name

    def file(self, name: str, variant: str | None = None) -> Path | None:
        """The file of the variant, or else the usual one; one made by the installation counts like one's own."""
        folders = [self.folder, self.built]
        if like := self.facts.get("like"):
            folders.append(CONTENDERS / like)
        if variant:
            folders = [self.folder / variant, self.built / variant, *folders]
        return next((folder / name for folder in folders if (folder / name).exists()), None)

    def script(self, name: str, variant: str | None = None, jobs: int | None = None) -> Path | None:
        """A load; where the size of a batch is part of its statement there is one for each size."""
        sized = self.file(f"{name}_{jobs}.pgbench", variant) if jobs else None
        return sized or self.file(f"{name}.pgbench", variant) or self.file(f"{name}.py", variant)

    def has(self, variant: str) -> bool:
        """Whether there is anything for a scenario that needs files of its own."""
        return (self.folder / variant).exists()

    def why_not(self, what: str) -> str:
        return self.facts.get("lacks", {}).get(what, "no such function")

    def environment(self, database: str | None = None) -> dict[str, str]:
        self.built.mkdir(parents=True, exist_ok=True)
        own = {"PGDATABASE": database or self.database, "PEERS": str(FETCHED), "BUILT": str(self.built)}
        return os.environ | own


def contenders(only: list[str] | None = None) -> list[Contender]:
    return [Contender(name) for name in ORDER if not only or name in only]
