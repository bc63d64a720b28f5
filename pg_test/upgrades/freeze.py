"""Keeps what the version of this tree is: its install script, its API, and the sums of all scripts that are kept.

python pg_test/upgrades/freeze.py writes them. What a release has published does not change anymore: then it refuses.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.database import drop_template, fresh_database  # noqa: E402
from support.scripts import CURRENT, KEPT, ROOT, installed  # noqa: E402
from upgrades import api  # noqa: E402

SUMS = KEPT / "SHA256SUMS"


def sums() -> str:
    """As sha256sum prints them."""
    scripts = sorted(KEPT.glob("turnstile--*.sql"))
    return "".join(f"{hashlib.sha256(script.read_bytes()).hexdigest()}  {script.name}\n" for script in scripts)


def main() -> None:
    tag = f"v{CURRENT}"
    if subprocess.run(["git", "-C", ROOT, "tag", "--list", tag], check=True, capture_output=True).stdout:
        raise SystemExit(f"{tag} is released: raise the version in Cargo.toml and sql/schema/version.sql")
    (KEPT / f"turnstile--{CURRENT}.sql").write_text(installed(CURRENT))
    with fresh_database() as database:
        api.path(CURRENT).write_text(api.written(api.of_catalog(database.connect())))
    drop_template()
    SUMS.write_text(sums())


if __name__ == "__main__":
    main()
