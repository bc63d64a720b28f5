"""What is declared by hand is what the server's headers say, of whatever version the server is."""

import subprocess

import pytest

from declared import constant, functions
from support.database import server

HEADERS = [
    "access/genam.h",
    "access/skey.h",
    "access/table.h",
    "access/timeline.h",
    "access/xact.h",
    "catalog/index.h",
    "commands/async.h",
    "commands/sequence.h",
    "executor/executor.h",
    "libpq/libpq-be.h",
    "miscadmin.h",
    "nodes/bitmapset.h",
    "storage/bufmgr.h",
    "storage/lwlock.h",
    "utils/elog.h",
    "utils/inval.h",
    "utils/jsonb.h",
    "utils/palloc.h",
    "utils/snapmgr.h",
    "utils/timeout.h",
    "utils/timestamp.h",
]
# What a connection needs of other libraries lies at the end of a Port; their headers need not be there.
BEGIN = "".join(f"#undef {feature}\n" for feature in ("ENABLE_GSS", "USE_OPENSSL", "USE_SSL"))


@pytest.fixture(scope="module")
def major():
    with server() as admin:
        return admin.info.server_version // 10_000


@pytest.fixture(scope="module")
def compile_with_headers():
    """Compiles C and gives the compiler's complaints."""
    with server() as admin:
        (headers,) = admin.execute("SELECT setting FROM pg_config WHERE name = 'INCLUDEDIR-SERVER'").fetchone()

    def compiled(text: str) -> str:
        include = '#include "postgres.h"\n' + BEGIN + "".join(f'#include "{header}"\n' for header in HEADERS)
        command = ["cc", "-fsyntax-only", "-x", "c", "-D_GNU_SOURCE", f"-I{headers}", "-"]
        return subprocess.run(command, input=f"{include}{text}\n", capture_output=True, text=True).stderr

    assert compiled("") == ""
    return compiled


def test_a_wrong_declaration_is_noticed(compile_with_headers):
    assert "conflicting types" in compile_with_headers("void Async_Notify(int channel, const char *payload);")


def test_functions_declared_by_hand(major, compile_with_headers):
    declared = functions(major)
    assert {"Async_Notify", "BuildIndexInfo", "nextval_internal", "ThrowErrorData"} <= {each.name for each in declared}
    # Redundant declarations are those that agree; a name that the headers lack would be a new one.
    use = "".join(f"{each.prototype}\nvoid *use_{each.name}(void) {{ return (void *) {each.name}; }}\n" for each in declared)
    assert compile_with_headers(use) == ""
    for each in declared:
        unknown = compile_with_headers(f"void *use(void) {{ return (void *) {each.name}; }}")
        assert unknown == "", f"the headers do not declare {each.name}"


def test_the_socket_is_the_first_field_of_a_port(compile_with_headers):
    check = '_Static_assert(offsetof(Port, sock) == 0 && sizeof(pgsocket) == 4, "moved");'
    assert compile_with_headers(check) == ""


@pytest.mark.parametrize(
    ("name", "of_the_server"),
    [("COUNT", "JB_CMASK"), ("IS_SCALAR", "JB_FSCALAR"), ("IS_OBJECT", "JB_FOBJECT"), ("IS_ARRAY", "JB_FARRAY")],
)
def test_the_bits_of_jsonb(name, of_the_server, compile_with_headers):
    value = constant("pg/jsonb.rs", name)
    assert compile_with_headers(f'_Static_assert({of_the_server} == {value}, "changed");') == ""


def test_the_number_of_a_timeout(major, compile_with_headers):
    if major < 17:
        pytest.skip("transaction_timeout came with 17")
    value = constant("pg/compat/processes.rs", "TRANSACTION_TIMEOUT")
    assert compile_with_headers(f'_Static_assert(TRANSACTION_TIMEOUT == {value}, "changed");') == ""
