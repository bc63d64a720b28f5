"""The folders of src/ have no circles: each uses only those above it in the map of src/lib.rs, which the documentation repeats."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
# What stands beside the folders, and whoever uses it.
ROW = re.compile(r"^//! \| `(\w+)` *\|", re.MULTILINE)
FOLDERS = ROW.findall((SOURCE / "lib.rs").read_text())
COMMENT = re.compile(r"//.*")
# `crate::name`, `crate::{name::…, other}`, and in a macro `$crate::name`.
USED = re.compile(r"\bcrate::(?:(\w+)|\{([^;]*)\};)")
OUTER = re.compile(r"(\w+)(?:::(?:\{[^{}]*\}|\w+|\*))*")


def _used(text: str) -> set[str]:
    """The folders that a file names."""
    found = set()
    for name, group in USED.findall(COMMENT.sub("", text)):
        found.update([name] if name else OUTER.findall(group))
    return found & set(FOLDERS)


def test_the_map_names_the_folders():
    assert sorted(FOLDERS) == sorted(path.name for path in SOURCE.iterdir() if path.is_dir())


def test_all_ways_to_name_a_folder_are_read():
    assert _used("use crate::{claims, shmem::{Locked, slots}};") == {"claims", "shmem"}
    assert _used("fn f() { crate::api::f(); } // crate::sync\nmacro_rules! m { () => { $crate::pg::f() } }") == {"api", "pg"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_folder_uses_only_those_above_it(folder):
    allowed = set(FOLDERS[: FOLDERS.index(folder) + 1])
    files = sorted((SOURCE / folder).rglob("*.rs"))
    breaches = {str(path.relative_to(ROOT)): used - allowed for path in files if (used := _used(path.read_text())) - allowed}
    assert breaches == {}


def test_the_documentation_has_the_same_map():
    page = (ROOT / "docs" / "internals" / "README.md").read_text()
    assert re.findall(r"^\| `src/(\w+)` \|", page, re.MULTILINE) == FOLDERS


def test_the_documentation_names_the_modules_of_the_scheduler():
    scheduler = ROOT / "crates" / "scheduler" / "src"
    page = (ROOT / "docs" / "internals" / "README.md").read_text()
    named = re.findall(r"^\| `crates/scheduler/src/(\w+)` \|", page, re.MULTILINE)
    assert named == ROW.findall((scheduler / "lib.rs").read_text())
    assert sorted(named) == sorted(path.stem for path in scheduler.iterdir() if path.name != "lib.rs")
