"""Follows the jobs that end, as a client of turnstile.recent() does."""

from collections import Counter

from support.calls import call


class Tail:
    def __init__(self, conn, since: str | None = "oldest", max_rows: int = 1000):
        self.conn, self.cursor, self.max_rows = conn, since, max_rows
        # How often each end was given, by (id, finished_at).
        self.seen = Counter()

    def read(self) -> list:
        """The rows of one call."""
        rows = call(self.conn, "recent", since=self.cursor, max_rows=self.max_rows)
        self.keep(rows)
        return rows

    def keep(self, rows: list) -> None:
        """Goes on behind these rows."""
        if rows:
            self.cursor = rows[-1].cursor
        self.seen.update((row.id, row.finished_at) for row in rows)

    def ids(self) -> list[int]:
        return [row.id for row in self.read()]

    def to_the_end(self) -> list[int]:
        """Reads until there is nothing more."""
        found = []
        while more := self.ids():
            found += more
        return found


def history(conn) -> Counter:
    """What a tail from the oldest job on must have seen."""
    return Counter(conn.execute("SELECT id, finished_at FROM turnstile.job_history").fetchall())
