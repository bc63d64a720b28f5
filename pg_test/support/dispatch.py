"""`turnstile dispatch` as a process."""

from support.calls import call
from support.work import PROGRAM, Started

OF_THE_PROGRAM = "application_name = 'turnstile dispatch' AND datname = current_database()"


class Dispatch(Started):
    def __init__(self, database: str, *arguments, **environment: str):
        words = [PROGRAM, "dispatch", "--database", database, *arguments]
        super().__init__(words, **{"TURNSTILE_LOG": "info"} | environment)


def set_endpoint(conn, pattern: str, url: str | None = None, allow_private: bool = True, headers: dict | None = None, **more):
    """Its row. All endpoints of the tests are on the loopback network."""
    given = {name: value for name, value in {"url": url, "headers": headers}.items() if value is not None}
    return call(conn, "set_endpoint", pattern=pattern, allow_private=allow_private, **given, **more)[0]
