"""Each page in a browser: whether it loads, can be read and used by everybody, and fits."""

import pytest

from support.browser import NARROW, WIDE, axe, barriers
from support.dashboard import pages, with_parameters
from support.dashboard_world import parameters

WAYS = {
    "light, wide": {"color_scheme": "light", "viewport": WIDE},
    "dark, narrow": {"color_scheme": "dark", "viewport": NARROW},
    "light, narrow": {"color_scheme": "light", "viewport": NARROW},
    "dark, wide": {"color_scheme": "dark", "viewport": WIDE},
}
QUICK = ("light, wide", "dark, narrow")


@pytest.fixture(scope="module")
def writable(dashboard):
    return dashboard("--allow-writes")


@pytest.fixture(scope="module")
def places(world, writable):
    """All pages, with something to show, and those that say that something is wrong."""
    begun = writable.post("/jobs/cancel", {"kind": "none of this kind"})
    found = [with_parameters(path, parameters(world, path)) for path in pages() if path != "/change"]
    found += [begun.headers["Location"]]
    found += [with_parameters("/job", {"id": world.jobs[state]}) for state in ("running", "discarded", "retryable", "completed", "blocked", "batch")]
    found += [with_parameters("/jobs", {"tenant": world.acme}), with_parameters("/jobs", {"tenant": "no such tenant"})]
    return found


@pytest.mark.parametrize("script", [True, pytest.param(False, marks=pytest.mark.long)])
def test_pages_load_without_a_complaint(places, writable, look_at, script):
    viewer = look_at(writable, java_script_enabled=script)
    for place in places:
        page = viewer.open(place)
        assert page.locator("main h1").count() == 1, place
        assert page.title().endswith("Turnstile"), place
        if script:
            viewer.is_content()
        assert viewer.complaints == [], place


def _keeps_nobody_out(viewer, places: list[str]) -> None:
    """Nothing serious is found by axe-core, and nothing hangs over the edge."""
    source = axe()
    found = {}
    for place in places:
        page = viewer.open(place)
        found[place] = barriers(page, source)
        viewer.is_within()
    assert {place: each for place, each in found.items() if each} == {}
    viewer.is_content()


@pytest.mark.parametrize("way", QUICK)
def test_pages_keep_nobody_out(places, writable, look_at, way):
    """Each page in one of two ways."""
    _keeps_nobody_out(look_at(writable, **WAYS[way]), places[QUICK.index(way) :: 2])


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_all_pages_keep_nobody_out(places, writable, look_at, way):
    _keeps_nobody_out(look_at(writable, **WAYS[way]), places)


def test_what_is_wrong_can_be_read_as_well(world, writable, look_at):
    viewer = look_at(writable)
    viewer.expected = {404, 400, 403}
    source = axe()
    for place in ("/nothing", "/job?id=x", "/job?id=999999999", "/jobs?older=x", "/change?number=99", "/queue?name=no+such+queue"):
        page = viewer.open(place)
        assert page.locator("main").inner_text().strip(), place
        assert barriers(page, source) == [], place
        viewer.is_within()
    viewer.is_content()
