"""The errors, warnings and notices that the sources can raise, read from their text: SQLSTATE, message and HINT."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from psycopg import errors

ROOT = Path(__file__).resolve().parents[2]

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_CODE = re.compile(r"PgSqlErrorCode::ERRCODE_(\w+)")
# A function that does nothing but name the SQLSTATE of the message that it is given.
_NAMING = re.compile(r"fn (\w+)\(message: [^{]*\) -> Failure \{\s*Failure::new\(PgSqlErrorCode::ERRCODE_(\w+), message\)")
_CHAIN = re.compile(r"\s*\.(detail|hint)\(")
_RAISE = re.compile(r"RAISE (EXCEPTION|WARNING|NOTICE)\s+'((?:[^']|'')*)'((?:[^;']|'(?:[^']|'')*')*);")
# Two SQLSTATEs have this name.
_SQLSTATES = {"NULL_VALUE_NOT_ALLOWED": "22004"}
# What test builds alone can say.
_NOT_THE_PRODUCT = ("seeded.rs", "seeded_statements.rs", "injection.rs", "tests.rs")


class Raised(NamedTuple):
    sqlstate: str
    message: str
    hint: str


def _sqlstate(name: str) -> str:
    return _SQLSTATES.get(name) or errors.lookup(name.removeprefix("E_R_I_E_")).sqlstate


def _closing(text: str, start: int) -> int:
    """Where the parenthesis that is open at `start` closes."""
    depth, at = 1, start
    while depth:
        if text[at] == '"':
            at = _STRING.match(text, at).end() - 1
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _first_string(text: str) -> str:
    found = _STRING.search(text)
    return re.sub(r'\\(["\\])', r"\1", found[1]) if found else ""


def _rust_files() -> list[Path]:
    files = sorted((ROOT / "src").rglob("*.rs"))
    return [path for path in files if path.name not in _NOT_THE_PRODUCT and "scheduler" not in path.parts]


def _constructors(texts: list[str]) -> dict[str, str]:
    return {name: _sqlstate(code) for text in texts for name, code in _NAMING.findall(text)}


def _raised_by_rust() -> Iterator[tuple[Path, str, str, dict[str, str]]]:
    """(file, SQLSTATE, message, what is chained to it)."""
    texts = {path: path.read_text() for path in _rust_files()}
    naming = _constructors(list(texts.values()))
    call = re.compile(rf"(?<!fn )\b(?:Failure::new|{'|'.join(naming)})\(")
    for path, text in texts.items():
        for found in call.finditer(text):
            end = _closing(text, found.end())
            arguments = text[found.end() : end]
            code = _CODE.search(arguments)
            message = _first_string(arguments)
            if not message:
                continue
            sqlstate = _sqlstate(code[1]) if code else naming[found[0][:-1]]
            yield path, sqlstate, message, _chained(text, end + 1)


def _chained(text: str, at: int) -> dict[str, str]:
    links = {}
    while link := _CHAIN.match(text, at):
        end = _closing(text, link.end())
        links[link[1]] = text[link.end() : end].strip()
        at = end + 1
    return links


def of_rust() -> Iterator[Raised]:
    for _, sqlstate, message, links in _raised_by_rust():
        hint = links.get("hint", "")
        yield Raised(sqlstate, message, _first_string(hint) if hint.startswith(('"', "format!")) else "")


def incomplete() -> list[str]:
    """Errors that say neither with which values nor what to do. An element of an array gets both where it is named."""
    raised = [each for each in _raised_by_rust() if each[0].name != "element.rs" and each[1] != _sqlstate("INTERNAL_ERROR")]
    return [f"{path.relative_to(ROOT)}: {message}" for path, _, message, links in raised if links.keys() != {"detail", "hint"}]


def _unquoted(text: str) -> str:
    return text.replace("''", "'")


def _filled(message: str, arguments: str) -> str:
    """Puts the names of the arguments, or dots, in the place of each %."""
    values = [value.strip() for value in arguments.split(",")[1:]]
    names = iter(value if value.isidentifier() else "…" for value in values)
    return re.sub("%", lambda _: f"{{{next(names, '…')}}}", message)


def of_sql(*levels: str) -> Iterator[Raised]:
    for path in sorted((ROOT / "sql" / "schema").rglob("*.sql")):
        for level, message, rest in _RAISE.findall(path.read_text()):
            if level not in levels:
                continue
            arguments, _, options = rest.partition("USING")
            code = re.search(r"ERRCODE = '(\w{5})'", options)
            hint = re.search(r"HINT = '((?:[^']|'')*)'", options)
            yield Raised(
                code[1] if code else "", _filled(_unquoted(message), arguments), _unquoted(hint[1]) if hint else ""
            )


def all_errors() -> list[Raised]:
    return sorted(set(of_rust()) | set(of_sql("EXCEPTION")))


def all_warnings() -> list[Raised]:
    return sorted(set(of_sql("WARNING", "NOTICE")))
