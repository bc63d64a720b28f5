"""The SQL API against that of each release: docs/reference/versioning.md says what may change."""

import pytest

from support.scripts import CURRENT, releases
from upgrades import api


@pytest.mark.parametrize("release", releases())
def test_nothing_of_a_release_is_missing(release, module_conn):
    old, new = api.read(api.path(release).read_text()), api.of_catalog(module_conn)
    assert len(old) > 60
    if release == CURRENT:
        # If not: make freeze.
        assert new == old
    assert api.broken(old, new) == []


BREAKS = {
    "a function is gone": ("function complete\n", "function complete_it\n"),
    "an argument is gone": ("    argument discard boolean = false\n", ""),
    "an argument has another name": ("argument run_at ", "argument runs_at "),
    "an argument has another type": ("argument attempt integer", "argument attempt bigint"),
    "an argument has another default": ("argument max_jobs integer = 1\n", "argument max_jobs integer = 2\n"),
    "an argument comes first": ("function fail\n", "function fail\n    argument more integer = 1\n"),
    "an argument has no default": ("function release\n    argument job_id bigint\n    argument attempt integer\n",
                                   "function release\n    argument job_id bigint\n    argument attempt integer\n    argument more integer\n"),
    "a result has another type": ("    returns bigint\n", "    returns integer\n"),
    "a column of a result is gone": ("    column created boolean\n", ""),
    "a field of a claimed job is gone": ("type claimed_job\n    column id bigint\n", "type claimed_job\n"),
    "an error is gone": ("    error 55000\n", ""),
    "a view is gone": ("view queues\n", "view queue_list\n"),
    "a column of a view moves": ("view queues\n", "view queues\n    column more integer\n"),
    "a column of a table is gone": ("    column progress jsonb\n", ""),
    "a column has another default": ("column on_end text not null = 'run'", "column on_end text not null = 'complete'"),
    "a setting is gone": ("setting turnstile.max_payload\n", "setting turnstile.most_payload\n"),
    "a setting has another default": ("= 1048576\n", "= 2097152\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), BREAKS.values(), ids=BREAKS.keys())
def test_each_break_is_seen(module_conn, before, after):
    text = api.written(api.of_catalog(module_conn))
    assert before in text
    assert api.broken(api.read(text), api.read(text.replace(before, after, 1))) != []


ADDITIONS = {
    "a function": ("function complete\n", "function more\n    returns void\nfunction complete\n"),
    "an argument with a default, at the end": ("    argument attempt integer\n    returns boolean\n",
                                               "    argument attempt integer\n    argument more integer = 1\n    returns boolean\n"),
    "a column of a result, at the end": ("    column created boolean\n", "    column created boolean\n    column more integer\n"),
    "a setting": ("setting turnstile.max_payload\n", "setting turnstile.more\n    is bool\nsetting turnstile.max_payload\n"),
    "an error": ("    error 55000\n", "    error 55000\n    error 55006\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), ADDITIONS.values(), ids=ADDITIONS.keys())
def test_what_is_added_breaks_nothing(module_conn, before, after):
    text = api.written(api.of_catalog(module_conn))
    assert before in text
    assert api.broken(api.read(text), api.read(text.replace(before, after, 1))) == []
