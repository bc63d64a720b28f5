"""A real browser that looks at pages, and what it complains of."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

# As Debian calls it, and as others do.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# It asks no one for anything but the pages that a test opens.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--metrics-recording-only", "--no-pings", "--force-color-profile=srgb",
    "--font-render-hinting=none", "--disable-lcd-text",
]  # fmt: skip
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
# No page should need seconds; this only turns a test that would hang into one that fails.
PATIENCE = 20_000
# What a page was kept from doing. It is told to the console as well, but not in each case.
VIOLATIONS = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
BEYOND = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def program() -> str:
    found = os.environ.get("TURNSTILE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    assert found, "no browser is there; run: scripts/setup program"
    return found


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """With settings and a store of its own, which are gone afterwards."""
    with sync_playwright() as playwright:
        fonts = {"FONTCONFIG_FILE": str(Path(__file__).with_name("fonts.conf"))}
        browser = playwright.chromium.launch(executable_path=program(), args=FLAGS, headless=True, env=os.environ | fonts)
        try:
            yield browser
        finally:
            browser.close()


class Viewer:
    """A browser in which nobody has been before, and the pages that it has open."""

    def __init__(self, browser: Browser, url: str, **options):
        """`options`: those of a context, as color_scheme and java_script_enabled."""
        given = {"viewport": WIDE, "locale": "en-US", "timezone_id": "UTC", "reduced_motion": "reduce"} | options
        self.url = url
        self.complaints: list[str] = []
        # Statuses of answers that a test expects.
        self.expected: set[int] = set()
        self.context: BrowserContext = browser.new_context(base_url=url, **given)
        self.context.set_default_timeout(PATIENCE)
        self.context.add_init_script(VIOLATIONS)
        self.context.on("page", self._watch)
        self.page: Page = self.context.new_page()

    def _watch(self, page: Page) -> None:
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._asked)
        page.on("request", self._left)
        page.on("response", self._answered)

    def _heard(self, message) -> None:
        # What a test expects is told of answers, too.
        if message.type in ("error", "warning") and not (self.expected and "Failed to load resource" in message.text):
            self.complaints.append(f"{message.type}: {message.text} {message.location}")

    def _asked(self, dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _left(self, request) -> None:
        place = urlsplit(request.url)
        if place.scheme not in ("data", "about") and not request.url.startswith(self.url + "/"):
            self.complaints.append(f"asked elsewhere: {request.url}")

    def _answered(self, response) -> None:
        if response.status >= 400 and response.status not in self.expected:
            self.complaints.append(f"{response.status}: {response.url}")

    def open(self, path: str) -> Page:
        self.page.goto(path, wait_until="load")
        return self.page

    def is_content(self) -> None:
        """Neither the browser nor a page has complained of anything."""
        if self.complaints:
            raise AssertionError(f"{self.page.url}: {self.complaints}")
        assert self.page.evaluate("window.violations || []") == [], self.page.url

    def is_within(self) -> None:
        """The page can be read without moving it sideways."""
        assert self.page.evaluate(BEYOND) <= 0, f"{self.page.url} is {self.page.evaluate(BEYOND)} pixels too wide"

    def close(self) -> None:
        self.context.close()


# ---- Accessibility --------------------------------------------------------------------------------


def axe() -> str:
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()


RUN = "() => axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"
GRAVE = ("serious", "critical")


def barriers(page: Page, source: str, impacts=GRAVE) -> list[str]:
    """What keeps people from using a page, as axe-core sees it."""
    page.evaluate(source)
    found = [each for each in page.evaluate(RUN) if each["impact"] in impacts]
    return [f"{each['id']}: {each['help']}: {node['html']} {node['failureSummary']}" for each in found for node in each["nodes"]]
