"""Surroundings by chance: one to four elements, each with details of its own."""

import random

from elements import ELEMENTS, Element

MOST = 4
# It hides all jobs from an owner that is no superuser, and the extension could not count what it cannot see.
HIDES_FROM_OTHER_OWNERS = "table-policy-passed-by-a-superuser"


class Surrounding:
    def __init__(self, names: list[str], seed: int):
        self.names = names
        self.seed = seed
        # Whether the connection was there before.
        self.knows_before = random.Random(f"{seed} {names}").random() < 0.5

    @classmethod
    def of_elements(cls, names: list[str], seed: int) -> "Surrounding":
        unknown = [name for name in names if name not in ELEMENTS]
        assert not unknown, f"no such element: {unknown}"
        return cls(names, seed)

    @classmethod
    def of_seed(cls, seed: int) -> "Surrounding":
        chance = random.Random(seed)
        drawn = cls(chance.sample(sorted(ELEMENTS), chance.randint(2, MOST)), seed)
        if HIDES_FROM_OTHER_OWNERS in drawn.names and drawn.has_another_owner():
            drawn.names.remove(HIDES_FROM_OTHER_OWNERS)
        return drawn

    def has_another_owner(self) -> bool:
        return any("OWNER TO" in statement for element in self.elements() for statement in element.statements)

    def elements(self) -> list[Element]:
        """The details of an element do not depend on what else there is, so that one may be left out in search of the culprit."""
        return [ELEMENTS[name](random.Random(f"{self.seed} {name}")) for name in self.names]

    def __str__(self) -> str:
        return f"{self.seed}-{'+'.join(self.names)}"

    def repeat(self) -> str:
        return f"make test-surroundings SEED={self.seed} ELEMENTS={'+'.join(self.names)}"
