"""Fills the database that the PG* variables name with what the dashboard is measured with. It must hold no jobs."""

from argparse import ArgumentParser

from lib.database import Database, fresh_database

from serve.filling import add_waiting, fill


def main() -> None:
    found = ArgumentParser(description=__doc__)
    found.add_argument("--finished", type=int, default=1_000_000, help="jobs that have ended (default: 1000000)")
    found.add_argument("--live", type=int, default=1_000_000, help="jobs that are live (default: 1000000)")
    found.add_argument("--waiting", type=int, default=0, help="so many that wait more (default: 0)")
    found.add_argument("--more", action="store_true", help="only these, into a database that was filled before")
    options = found.parse_args()
    database = Database() if options.more else fresh_database()
    if not options.more:
        fill(database, options.finished, options.live)
    if options.waiting:
        first = database.value("serve/next_id.sql")
        add_waiting(database, first, options.waiting)
    database.close()


if __name__ == "__main__":
    main()
