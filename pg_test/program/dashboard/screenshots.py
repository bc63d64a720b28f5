"""Takes the pictures of docs/dashboard: a company's jobs after some minutes, light, dark and narrow. Run: make screenshots (MINUTES=…)"""

import sys
import time
from argparse import ArgumentParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.browser import Viewer, launched  # noqa: E402
from support.dashboard import Dashboard  # noqa: E402
from support.dashboard_scene import NOISY, playing  # noqa: E402
from support.database import Database, server  # noqa: E402
from support.system import ROOT  # noqa: E402

FOLDER = ROOT / "docs" / "dashboard"
LARGEST = 120_000
# A name and a viewer as an installation has them.
DATABASE, ROLE = "shop", "ops"
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 780}
LIGHT, DARK = {"color_scheme": "light", "viewport": WIDE}, {"color_scheme": "dark", "viewport": WIDE}
A_WAITING_JOB = "SELECT max(id) FROM turnstile.job WHERE tenant = %s AND kind = 'import_csv' AND state = 'available'"


def _pictures(scene) -> dict[str, tuple[str, dict]]:
    job = scene.conn.execute(A_WAITING_JOB, [NOISY]).fetchone()[0]
    return {
        "overview": ("/", LIGHT),
        "overview-dark": ("/", DARK),
        "tenants": ("/tenants", LIGHT),
        "job": (f"/job?id={job}", LIGHT),
        "failures-dark": ("/failures", DARK),
        "batch": (f"/batch?id={scene.batch}", LIGHT),
        "narrow": (f"/tenant?name={NOISY}", LIGHT | {"viewport": NARROW}),
        "narrow-dark": ("/tenants", DARK | {"viewport": NARROW}),
    }


def _take(browser, dashboard: Dashboard, name: str, path: str, options: dict) -> None:
    viewer = Viewer(browser, dashboard.url, **options)
    page = viewer.open(path)
    page.locator("#live .live-state", has_text="Live").wait_for()
    file = FOLDER / f"{name}.png"
    # No more than a page has.
    height = min(options["viewport"]["height"], page.locator("footer").evaluate("element => element.getBoundingClientRect().top") or 10_000)
    page.screenshot(path=file, clip={"x": 0, "y": 0, "width": options["viewport"]["width"], "height": max(height, 400)})
    viewer.is_content()
    viewer.close()
    size = file.stat().st_size
    print(f"{file.relative_to(ROOT)}: {size:,} bytes")
    assert size <= LARGEST, f"{name} is too large"


def _database() -> Database:
    with server() as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        admin.execute(f"DROP ROLE IF EXISTS {ROLE}")
        admin.execute(f"CREATE ROLE {ROLE} LOGIN SUPERUSER")
        admin.execute(f"CREATE DATABASE {DATABASE}")
    database = Database(DATABASE)
    database.connect().execute("CREATE EXTENSION turnstile")
    return database


def main() -> None:
    found = ArgumentParser(description=__doc__)
    found.add_argument("--minutes", type=float, default=10, help="so long jobs come and go before (default: 10)")
    options = found.parse_args()
    FOLDER.mkdir(exist_ok=True)
    database = _database()
    with playing(database) as scene, launched() as browser:
        dashboard = Dashboard(f"dbname={DATABASE} user={ROLE}", "--allow-writes")
        try:
            # Not so many that what comes later is flat beside them.
            scene.before(failed=400)
            scene.start()
            time.sleep(max(options.minutes * 60 - 60, 0))
            scene.begin_batch()
            time.sleep(60)
            for name, (path, how) in _pictures(scene).items():
                _take(browser, dashboard, name, path, how)
        finally:
            dashboard.close()


if __name__ == "__main__":
    main()
