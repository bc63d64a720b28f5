"""What each upgrade script begins and ends with.

python pg_test/upgrades/script.py FROM begins the script from a release to the version under development.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.scripts import CURRENT, KEPT, releases  # noqa: E402

_SCHEMA = KEPT / "schema"
_UPGRADE = KEPT / "upgrade"
_GAP = "\n-- ---- What changes --------------------------------------------------------------------------------\n\n"


def beginning() -> str:
    """Pins what is looked up by name, says which catalog this will be, and refuses a library that is too old for it."""
    pins = (_SCHEMA / "guard.sql").read_text().split("\n\n")[0]
    version = (_SCHEMA / "version.sql").read_text().replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
    return f"{pins}\n\n{version}\n{(_UPGRADE / 'remember_grants.sql').read_text()}"


def check_of_grants() -> str:
    """An install script ends with it, too."""
    return (_SCHEMA / "grants.sql").read_text()


def end() -> str:
    return "\n".join([(_UPGRADE / "give_to_owner.sql").read_text(), check_of_grants(), (_UPGRADE / "give_back_grants.sql").read_text()])


def upgrade_script(changes: str) -> str:
    return f"{beginning()}{_GAP}{changes}\n{end()}"


def main(release: str) -> None:
    script = KEPT / f"turnstile--{release}--{CURRENT}.sql"
    if release not in releases() or release == CURRENT or script.exists():
        raise SystemExit(f"no script is needed from {release} to {CURRENT}, or there is one")
    script.write_text(upgrade_script(""))
    print(script.relative_to(KEPT.parent))


if __name__ == "__main__":
    main(*sys.argv[1:])
