"""Manual pages and completions, which the program makes of its own help."""

import re
import subprocess

import pytest

from support import program

LINE = 80


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    folder = tmp_path_factory.mktemp("share")
    done = program.attempt("pages", folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def _commands() -> list[str]:
    listed = program.attempt("help").stdout.split("\nCommands:\n")[1].split("\n\nOptions:")[0]
    return [name for name in re.findall(r"^  ([a-z]+)\b", listed, re.MULTILINE) if name != "help"]


def test_each_command_has_a_manual_page(share):
    commands = _commands()
    assert {"work", "serve", "top", "tail", "why", "enqueue", "retry", "cancel", "check"} <= set(commands) and "pages" not in commands
    pages = {path.name: path.read_text() for path in (share / "man/man1").iterdir()}
    assert set(pages) == {"turnstile.1", *[f"turnstile-{command}.1" for command in commands]}
    for name, page in pages.items():
        for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", '"EXIT STATUS"', "ENVIRONMENT"):
            assert f"\n.SH {heading}\n" in page, name
    assert all(f"turnstile\\-{command}(1)" in pages["turnstile.1"] for command in commands)
    # A line that begins with a period would be a command of the formatter.
    assert not re.search(r"^\.(?!SH|TH|TP|PP|nf|fi|br|ie|el|RS|RE|IP|I )", "\n".join(pages.values()), re.MULTILINE)


@pytest.mark.parametrize("command", [*_commands(), None], ids=str)
def test_what_stands_behind_the_options_fits_a_terminal(command):
    text = program.attempt("help", *[command] * (command is not None)).stdout.split("\nExamples:\n")[1]
    assert [line for line in text.splitlines() if len(line) > LINE] == []


@pytest.mark.parametrize(
    "words, wanted",
    [
        (["t"], {"top", "tail"}),
        (["tail", "--st"], {"--state"}),
        (["tail", "--state", ""], {"completed", "cancelled", "discarded", "retryable"}),
        (["top", "q"], {"queues"}),
    ],
    ids=str,
)
def test_bash_completes_words(share, words, wanted):
    script = """
        source "$1/bash-completion/completions/turnstile"
        shift
        COMP_WORDS=(turnstile "$@")
        COMP_CWORD=$#
        _turnstile turnstile "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(["bash", "-c", script, "bash", share, *words], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == wanted


def test_other_shells_have_theirs(share):
    for place in ("zsh/site-functions/_turnstile", "fish/vendor_completions.d/turnstile.fish"):
        text = (share / place).read_text()
        assert all(command in text for command in _commands())


@pytest.mark.parametrize("words", [["help"], ["--help"], ["--version"], ["work", "--help"], ["help", "tail"], ["pages", "--reference"]], ids=str)
def test_help_that_cannot_be_printed_is_an_error(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([program.PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "No space left" in done.stderr


def test_help_that_nobody_reads_to_its_end_is_none():
    with subprocess.Popen([program.PROGRAM, "help"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as helped:
        helped.stdout.close()
        assert (helped.wait(program.GIVE_UP), helped.stderr.read()) == (0, b"")
