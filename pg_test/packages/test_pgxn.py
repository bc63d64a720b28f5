"""META.json is what PGXN's specification asks for, and says what Cargo.toml and turnstile.control say."""

import json
import re

from support.system import ROOT

META = json.loads((ROOT / "META.json").read_text())
CARGO = (ROOT / "Cargo.toml").read_text()
SEMANTIC_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+)?")
TERM = re.compile(r"[^\s/\\\x00-\x1f]{2,}")
# Of the specification, version 1.0.0: keys that must be there, and those that may.
REQUIRED = {"name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"}
OPTIONAL = {"description", "generated_by", "no_index", "prereqs", "release_status", "resources", "tags"}
PHASES = {"configure", "build", "test", "runtime", "develop"}
RELATIONS = {"requires", "recommends", "suggests", "conflicts"}


def _said_in_cargo(key: str) -> str:
    return re.search(rf'^{key} = "(.*)"', CARGO, re.MULTILINE)[1]


def test_it_has_the_keys_of_the_specification():
    assert REQUIRED <= set(META) <= REQUIRED | OPTIONAL
    assert META["meta-spec"] == {"version": "1.0.0"}
    assert TERM.fullmatch(META["name"])
    assert META["release_status"] in ("stable", "testing", "unstable")
    assert META["license"] == "postgresql"
    assert all(META[key].strip() for key in ("abstract", "description", "maintainer", "generated_by"))
    assert all(isinstance(tag, str) and 0 < len(tag) < 256 and not re.search(r"[/\\\x00-\x1f]", tag) for tag in META["tags"])
    assert len(META["tags"]) == len(set(META["tags"]))


def test_it_says_what_it_provides():
    (name, provided), *more = META["provides"].items()
    assert (name, more) == (META["name"], [])
    assert {"file", "version"} <= set(provided) <= {"abstract", "file", "docfile", "version"}
    assert (ROOT / provided["docfile"]).exists()
    assert provided["file"] == f"sql/turnstile--{META['version']}.sql"


def test_what_it_needs_is_told_by_phase():
    for phase, relations in META["prereqs"].items():
        assert phase in PHASES and set(relations) <= RELATIONS
        for needed in relations.values():
            assert all(TERM.fullmatch(term) and SEMANTIC_VERSION.fullmatch(version) for term, version in needed.items())


def test_versions_and_words_are_those_of_the_project():
    control = (ROOT / "turnstile.control").read_text()
    assert SEMANTIC_VERSION.fullmatch(META["version"])
    assert {META["version"], META["provides"]["turnstile"]["version"]} == {_said_in_cargo("version")}
    assert "default_version = '@CARGO_VERSION@'" in control or f"default_version = '{META['version']}'" in control
    assert META["abstract"] == META["provides"]["turnstile"]["abstract"] == _said_in_cargo("description")
    oldest = min(int(major) for major in re.findall(r"^pg(\d+) = ", CARGO, re.MULTILINE))
    assert META["prereqs"]["runtime"]["requires"]["PostgreSQL"] == f"{oldest}.0.0"
