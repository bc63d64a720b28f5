"""A connection that costs its client little: libpq itself, each statement prepared once, values as text."""

import contextlib
import re

import orjson
import psycopg
from psycopg import pq

_FINE = {pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COPY_IN}
# By the number of the type: boolean, bigint, integer, jsonb; all else is text.
_READ = {16: lambda text: text == b"t", 20: int, 23: int, 3802: orjson.loads}
_NAMED = re.compile(r"%\((\w+)\)s")
_translated: dict[str, tuple[bytes, list[str], bool]] = {}


class Gone(Exception):
    """The connection is lost, or was refused."""

    def __init__(self, sqlstate: str | None = None):
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


class ServerError(Exception):
    """The server refused a statement."""

    def __init__(self, sqlstate: str, message: str):
        super().__init__(sqlstate, message)
        self.sqlstate, self.message = sqlstate, message


@contextlib.contextmanager
def _lost():
    try:
        yield
    except psycopg.OperationalError:
        raise Gone from None


class Wire:
    def __init__(self, dbname: str):
        self._libpq = pq.PGconn.connect(f"dbname={dbname} options='-c statement_timeout=60s'".encode())
        self._prepared: dict[str, bytes] = {}
        if self._libpq.status != pq.ConnStatus.OK:
            raise Gone

    def run(self, query: str, values: dict) -> tuple:
        """The columns of the first row, or an empty list without one; of a command its tag."""
        text, names, prepared = _translated.get(query) or _translate(query)
        given = [_as_text(values[name]) for name in names]
        # libpq sends nothing, and gives no result, on a connection that was found lost after the last result.
        with _lost():
            if prepared:
                result = self._libpq.exec_prepared(self._name(query, text), given)
            else:
                result = self._libpq.exec_params(text, given) if given else self._libpq.exec_(text)
        self._check(result)
        if not result.nfields:
            return (result.command_status or b"").decode(), None
        if not result.ntuples:
            return [], None
        return tuple(_from_text(result.get_value(0, column), result.ftype(column)) for column in range(result.nfields))

    def _name(self, query: str, text: bytes) -> bytes:
        name = self._prepared.get(query)
        if name is None:
            name = b"s%d" % len(self._prepared)
            self._check(self._libpq.prepare(name, text))
            self._prepared[query] = name
        return name

    def copy(self, query: str, lines: list[str]) -> None:
        with _lost():
            self._check(self._libpq.exec_(query.encode()))
            for line in lines:
                self._libpq.put_copy_data(line.encode() + b"\n")
            self._libpq.put_copy_end()
        self._check(self._libpq.get_result())
        self._rest()

    def close(self) -> None:
        self._libpq.finish()

    def _check(self, result) -> None:
        if result.status in _FINE:
            return
        sqlstate = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        message = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode()
        if not sqlstate or self._libpq.status != pq.ConnStatus.OK:
            raise Gone(sqlstate or None)
        self._rest()
        raise ServerError(sqlstate, message)

    def _rest(self) -> None:
        while self._libpq.get_result() is not None:
            pass


def _translate(query: str) -> tuple[bytes, list[str], bool]:
    """The statement with numbered places, the names of the values in their order, and whether it is worth preparing."""
    names = list(dict.fromkeys(_NAMED.findall(query)))
    text = _NAMED.sub(lambda found: f"${names.index(found[1]) + 1}", query)
    _translated[query] = text.encode(), names, "turnstile" in query
    return _translated[query]


def _as_text(value) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, list) and not (value and isinstance(value[0], dict)):
        return ("{" + ",".join(str(element) for element in value) + "}").encode()
    if isinstance(value, (dict, list)):
        return orjson.dumps(value)
    return str(value).encode()


def _from_text(text: bytes | None, type_number: int):
    return None if text is None else _READ.get(type_number, bytes.decode)(text)


def copy_field(value) -> str:
    """A value as COPY takes it; those of a history need no escapes."""
    found = _as_text(value)
    return r"\N" if found is None else found.decode()
