"""How long the comparison and each of its scenarios may take."""

from time import monotonic


class Budget:
    """Minutes are shared out among the scenarios by weight; what one leaves over goes to those behind it."""

    # Of its part, a scenario keeps this much even if those before it took too long.
    LEAST = 0.5

    def __init__(self, minutes: float, weights: dict[str, float]):
        self.seconds = 60 * minutes
        self.ends = monotonic() + self.seconds
        self.weights = dict(weights)
        self.all = sum(weights.values())

    def next(self, scenario: str) -> "Share":
        left = max(0.0, self.ends - monotonic())
        share = left * self.weights[scenario] / sum(self.weights.values())
        least = self.LEAST * self.seconds * self.weights.pop(scenario) / self.all
        return Share(max(share, least))


class Share:
    """At least one round is made, and after that as many as fit."""

    # A first round that takes this much longer than its share is cut short.
    PATIENCE = 4.0

    def __init__(self, seconds: float):
        self.begun = monotonic()
        self.seconds = seconds

    def spent(self) -> float:
        return monotonic() - self.begun

    def is_used_up(self) -> bool:
        return self.spent() > self.seconds * self.PATIENCE

    def left(self) -> float:
        return self.seconds - self.spent()

    def rounds(self, most: int, least: int = 1):
        """Numbers of rounds, as long as another one of the usual length fits."""
        for number in range(most):
            if number >= least and self.spent() * (number + 1) / number > self.seconds:
                return
            yield number
