"""An element and how it is written down: SQL with marks for what chance is to choose."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from script import KINDS


@dataclass
class Element:
    name: str
    statements: list[str]
    # Columns of users whose values come of chance or of a count.
    volatile: set[str] = field(default_factory=set)
    # What users do at points of the script.
    by_hand: dict[str, str] = field(default_factory=dict)
    # SQLSTATEs with which the server refuses statements whether they find a row or not.
    of_statements: set[str] = field(default_factory=set)


class Family:
    """Elements of one sort, by name."""

    def __init__(self, prefix: str):
        self.prefix = prefix
        self.elements: dict[str, Callable[[Random], Element]] = {}

    def add(
        self,
        element: str,
        /,
        *statements: str,
        volatile: str = "",
        by_hand: dict[str, str] | None = None,
        of_statements: str = "",
        **choices: list[str],
    ) -> None:
        """Marks in angle brackets are replaced: <kind> by a kind of the script, others by one of their choices."""
        name = f"{self.prefix}-{element}"

        def make(chance: Random) -> Element:
            drawn = {mark: chance.choice(values) for mark, values in ({"kind": KINDS} | choices).items()}

            def fill(text: str) -> str:
                # Choices may have marks in them.
                for _ in range(2):
                    for mark, value in drawn.items():
                        text = text.replace(f"<{mark}>", value)
                return text

            points = {point: fill(statement) for point, statement in (by_hand or {}).items()}
            return Element(
                name, [fill(statement) for statement in statements], set(volatile.split()), points, set(of_statements.split())
            )

        self.elements[name] = make
