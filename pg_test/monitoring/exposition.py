"""The text that exporters give to Prometheus, read into samples."""

import json
import re
from dataclasses import dataclass, field

_ABOUT = re.compile(r"# (HELP|TYPE) (\w+) (.*)")
_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')
# What a histogram's samples have behind its name.
_SUFFIX = re.compile(r"_(bucket|sum|count)$")

Labels = tuple[tuple[str, str], ...]


def labelled(labels: dict) -> Labels:
    """The buckets' bounds as numbers: 1 and 1.0 are the same."""
    return tuple(sorted((name, str(float(value)) if name == "le" else value) for name, value in labels.items()))


def family(name: str, kind: str) -> str:
    return _SUFFIX.sub("", name) if kind == "histogram" else name


@dataclass
class Exposition:
    kinds: dict[str, str] = field(default_factory=dict)
    helps: dict[str, str] = field(default_factory=dict)
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def names(self) -> set[str]:
        return {name for name, _ in self.samples}


def parsed(text: str) -> Exposition:
    found = Exposition()
    for line in text.splitlines():
        if about := _ABOUT.fullmatch(line):
            kept = found.helps if about[1] == "HELP" else found.kinds
            kept[about[2]] = about[3]
        elif line:
            name, labels, value = _SAMPLE.fullmatch(line).groups()
            pairs = {label: json.loads(quoted) for label, quoted in _LABEL.findall(labels or "")}
            found.samples[name, labelled(pairs)] = float(value)
    return found


def of_turnstile(text: str) -> str:
    """Without the lines about the exporter itself."""
    return "".join(f"{line}\n" for line in text.splitlines() if re.match(r"(# (HELP|TYPE) )?turnstile_", line))
