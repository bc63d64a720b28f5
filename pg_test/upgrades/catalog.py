"""What is in a database of the extension and of what users have added to it, as facts that can be compared."""

from pathlib import Path

_QUERY = Path(__file__).with_name("catalog.sql").read_text()

Facts = dict[tuple[str, str], str]


def described(conn) -> Facts:
    return {(thing, fact): value for thing, fact, value in conn.execute(_QUERY).fetchall()}


def differences(wanted: Facts, found: Facts) -> list[str]:
    """Things with a fact that is missing, too many, or another."""
    differ = [of for of in sorted(wanted.keys() | found.keys()) if wanted.get(of) != found.get(of)]
    return [f"{thing}, {fact}: {found.get((thing, fact))!r}, not {wanted.get((thing, fact))!r}" for thing, fact in differ]
