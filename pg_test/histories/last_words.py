"""What is worth reading of a record whose files will be lost: that of a history which failed on a machine far away."""

import re
from pathlib import Path

_GRAVE = re.compile(r"WARNING|FATAL|PANIC|terminated by signal|TRAP:")
# What the clients and the crashes of every history bring about.
_USUAL = re.compile(r"FATAL:  (terminating connection due to|the database system is|connection to client lost)|terminating connection because")
LINES = 50


def last_words(directory: Path) -> str:
    """Nothing, if the record is gone because there was nothing wrong with it."""
    broken = [line for path in sorted(directory.glob("*.broken")) for line in [path.name, *path.read_text().splitlines()[-12:]]]
    log = directory / "server.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    grave = [line for line in lines if _GRAVE.search(line) and not _USUAL.search(line)]
    parts = {"broken clients": broken, "what the server warned of": grave[-LINES:], "the end of its log": lines[-LINES:]}
    return "\n".join("\n".join([f"-- {title}", *(line[:300] for line in said)]) for title, said in parts.items() if said)
