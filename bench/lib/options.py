"""The options that all benchmarks have."""

from argparse import ArgumentParser, Namespace


def parser(description: str) -> ArgumentParser:
    found = ArgumentParser(description=description)
    found.add_argument("--quick", action="store_true", help="short slices and few rounds: to see that it runs")
    found.add_argument(
        "--here",
        action="store_true",
        help="measure in the database that PGHOST, PGPORT, PGUSER and PGDATABASE name, which must hold no jobs; "
        "without it a private cluster is made and destroyed",
    )
    return found


def add_rounds(found: ArgumentParser, full: int, quick: int) -> None:
    found.add_argument("--rounds", type=int, help=f"turns of each contender (default: {full}; quick: {quick})")
    found.set_defaults(full_rounds=full, quick_rounds=quick)


def add_seconds(found: ArgumentParser, full: int, quick: int, what: str = "length of a slice") -> None:
    found.add_argument("--seconds", type=int, help=f"{what} (default: {full}; quick: {quick})")
    found.set_defaults(full_seconds=full, quick_seconds=quick)


def rounds(options: Namespace) -> int:
    return options.rounds or (options.quick_rounds if options.quick else options.full_rounds)


def seconds(options: Namespace) -> int:
    return options.seconds or (options.quick_seconds if options.quick else options.full_seconds)
