"""One connection that looks at the server from time to time, made again after each crash."""

import psycopg


class Lookout:
    def __init__(self, dbname: str):
        self._dbname = dbname
        self._conn = None

    def ask(self, query: str, values=None) -> list:
        """The first column of the last answer; while the server is down: psycopg.OperationalError."""
        try:
            if self._conn is None:
                self._conn = psycopg.connect(dbname=self._dbname, autocommit=True, application_name="lookout")
            cursor = self._conn.execute(query, values)
            while cursor.nextset():
                pass
            return [row[0] for row in cursor] if cursor.description else []
        except psycopg.errors.QueryCanceled:
            # Nobody else does that to it: psycopg was interrupted while it waited.
            raise KeyboardInterrupt from None
        except psycopg.OperationalError:
            self.leave()
            raise

    def leave(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None
