"""What the sources say of the server's C code without the help of its headers, as C that a compiler can compare with them."""

import re
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
BLOCK = re.compile(r'((?:^#\[cfg\(.*\)\]\n)?)^unsafe extern "C-unwind" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"fn (\w+)\((.*?)\)(?: -> ([^;]+))?;", re.DOTALL)
CALLBACK = re.compile(r'^type (\w+) = unsafe extern "C-unwind" fn\((.*?)\)(?: -> ([^;]+))?;', re.MULTILINE)
VERSION = re.compile(r'"pg(\d+)"')
C_TYPES = {
    "()": "void",
    "bool": "bool",
    "i64": "int64",
    "u32": "uint32",
    "u64": "uint64",
    "usize": "size_t",
    "c_char": "char",
    "c_int": "int",
    "c_uint": "unsigned int",
    "c_void": "void",
    "JsonbIteratorToken::Type": "JsonbIteratorToken",
    **{
        name: name
        for name in (
            "AttrNumber Bitmapset Buffer CommandId Datum EState ErrorData FullTransactionId IndexInfo IndexScanDesc JsonbIterator JsonbValue "
            "List LOCKMODE LWLock Oid Relation ResultRelInfo ScanKey Snapshot StrategyNumber TimestampTz TransactionId TupleTableSlot"
        ).split()
    },
}
# Types of C for which Rust has none, by the function that takes them: the size and range of an enum is that of an int.
ENUMS = {"enable_timeout_after": {"timeout": "TimeoutId"}, "disable_timeout": {"timeout": "TimeoutId"}}


@dataclass(frozen=True)
class Function:
    name: str
    prototype: str


def _is_compiled(attribute: str, major: int) -> bool:
    named = str(major) in VERSION.findall(attribute)
    return not attribute or named != ("not(" in attribute)


def _c_type(rust: str) -> str:
    rust = rust.strip().removeprefix("pg_sys::")
    if rust.startswith("*mut "):
        return f"{_c_type(rust.removeprefix('*mut '))} *"
    if rust.startswith("*const "):
        return f"const {_c_type(rust.removeprefix('*const '))} *"
    return C_TYPES[rust]


def _arguments(text: str) -> list[tuple[str, str]]:
    """Names and types."""
    pairs = [argument.partition(":") for argument in re.sub(r"pg_sys::", "", text).split(",") if argument.strip()]
    return [(name.strip(), kind.strip()) for name, _, kind in pairs]


def _declaration(name: str, arguments: str, result: str, callbacks: dict[str, str]) -> str:
    enums = ENUMS.get(name, {})
    kinds = [enums.get(argument) or callbacks.get(kind) or _c_type(kind) for argument, kind in _arguments(arguments)]
    return f"{_c_type(result or '()')} {name}({', '.join(kinds)});"


def functions(major: int) -> list[Function]:
    """The functions that are declared by hand for this version of the server."""
    found = []
    for path in sorted(SOURCE.rglob("*.rs")):
        text = path.read_text()
        callbacks = {
            name: f"{_c_type(result or '()')} (*)({', '.join(_c_type(kind) for kind in kinds.split(','))})"
            for name, kinds, result in CALLBACK.findall(text)
            if any(name in body for _, body in BLOCK.findall(text))
        }
        for attribute, body in BLOCK.findall(text):
            if _is_compiled(attribute, major):
                found += [Function(name, _declaration(name, given, result, callbacks)) for name, given, result in FUNCTION.findall(body)]
    return found


def constant(path: str, name: str) -> int:
    """The value of a constant of the sources."""
    text = (SOURCE / path).read_text()
    return int(re.search(rf"const {name}: \w+ = (\w+);", text)[1].replace("_", ""), 0)
