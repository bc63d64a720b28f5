"""The four gates with a limit that can be set, described so that one test holds for each of them."""

from dataclasses import dataclass

from support.settings import configure, unconfigure


@dataclass(frozen=True)
class Gate:
    """A counting limit: where it is written, and the arguments that put a job behind it."""

    table: str
    column: str
    key: tuple[str, ...]
    default_key: tuple[str, ...]
    behind: dict

    def limit(self, conn, slots: int | None) -> None:
        configure(conn, self.table, *self.key, **{self.column: slots})

    def default(self, conn, slots: int | None) -> None:
        configure(conn, self.table, *self.default_key, **{self.column: slots})

    def unset(self, conn) -> None:
        unconfigure(conn, self.table, *self.key)

    @property
    def queue(self) -> str:
        return self.behind.get("queue", "default")


QUEUE = Gate("queue", "max_running", ("mail",), ("*",), {"queue": "mail"})
TENANT = Gate("tenant", "slots", ("acme",), ("*",), {"tenant": "acme"})
ACCOUNT = Gate("account", "slots", ("acme", "sales"), ("*", "*"), {"tenant": "acme", "account": "sales"})
CONCURRENCY = Gate("concurrency", "slots", ("smtp",), ("*",), {"concurrency_key": "smtp"})

GATES = {"queue": QUEUE, "tenant": TENANT, "account": ACCOUNT, "concurrency key": CONCURRENCY}
