"""Expecting a refusal as the contract promises it: the SQLSTATE, and a DETAIL and a HINT beside the message."""

import contextlib

import psycopg
import pytest

NULL_VALUE = "22004"
BAD_VALUE = "22023"
NO_SUCH_JOB = "P0002"
WRONG_STATE = "55000"
TOO_LONG = "54000"
NOT_SUPPORTED = "0A000"
NO_PRIVILEGE = "42501"
WRONG_TYPE = "42804"
FULL = "53400"


@contextlib.contextmanager
def refused(sqlstate: str):
    """The block must be refused with this SQLSTATE, said in full.

    It runs in a transaction or savepoint of its own only if the caller opens one.
    """
    with pytest.raises(psycopg.Error) as caught:
        yield caught
    error = caught.value
    assert error.sqlstate == sqlstate, f"{error.sqlstate}: {error}"
    assert error.diag.message_primary
    assert error.diag.message_detail, f"no DETAIL: {error}"
    assert error.diag.message_hint, f"no HINT: {error}"
