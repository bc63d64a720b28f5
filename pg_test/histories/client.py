"""A client: a process with one connection, which does random things and writes down what it asked and heard.

A call that the server refused had no effect. One whose connection was lost may have had one: nobody knows.
"""

import random
import time

from histories.log import Log
from histories.wire import Gone, ServerError, Wire

XID = "pg_current_xact_id_if_assigned()::text::bigint"
LEVELS = ["READ COMMITTED"] * 6 + ["REPEATABLE READ", "SERIALIZABLE"]
# The server ends, has ended, or is not there yet.
_GOING_DOWN = {"57P01", "57P02", "57P03", "25P03", "08006", "08003"}


class Lost(Exception):
    """The connection is gone."""


class Refused(Exception):
    """The server said no: the statement had no effect."""


class Client:
    """What producers, workers and administrators have in common; `step` is what they do again and again."""

    # Of its transactions.
    levels = LEVELS

    def __init__(self, station, name: str, seed: int):
        self.station, self.name = station, name
        self.chance = random.Random(f"{seed} {name}")
        self.log = Log(station.directory, name, station.counted(name))
        self.conn = None
        self.in_block = False

    def work(self) -> None:
        while self.station.going.value:
            try:
                if self.conn is None:
                    self.connect()
                self.step()
            except Lost:
                self.conn = None
                self.in_block = False
            except Refused:
                pass
            self.station.count(self)
            if self.station.leisure:
                time.sleep(self.chance.random() * self.station.leisure)

    def step(self) -> None:
        raise NotImplementedError

    def connect(self) -> None:
        try:
            self.conn = Wire(self.station.dbname)
        except Gone:
            time.sleep(0.05)
            raise Lost from None
        self.log.invoked("connect", {})
        self.log.ended("ok", answer=None, xid=None)
        self.came_back()

    def came_back(self) -> None:
        """A fresh connection: what the one before has left behind is looked after."""

    def call(self, verb: str, query: str, values: dict | None = None, **arguments):
        """One statement, logged; what it returns has one row: the answer, and the transaction's id.

        `%(me)s` in the statement stands for the client and the number of this call.
        """
        return self.logged(verb, arguments, lambda: self.conn.run(query, (values or {}) | {"me": self.me}))

    def logged(self, verb: str, arguments: dict, act):
        """What `act` does, logged before and after; it returns the answer and the transaction's id."""
        self.log.invoked(verb, arguments)
        try:
            answer, xid = act()
        except (Gone, ServerError) as error:
            if isinstance(error, Gone) or error.sqlstate in _GOING_DOWN:
                self.log.ended("unknown", sqlstate=error.sqlstate)
                self.conn.close()
                raise Lost from error
            self.log.ended("error", sqlstate=error.sqlstate, message=error.message[:300])
            raise Refused(error.sqlstate) from error
        self.log.ended("ok", answer=answer, xid=xid)
        return answer

    @property
    def me(self) -> str:
        return f"{self.name}:{self.log.number}"

    @property
    def next_me(self) -> str:
        """What `me` will be in the next call."""
        return f"{self.name}:{self.log.number + 1}"

    # What a client believes to hold, to go back to when that is undone.
    def remember(self):
        return None

    def recall(self, remembered) -> None:
        pass

    def block(self, steps: int, step) -> None:
        """A transaction of several steps, some behind savepoints, committed or not."""
        level = self.chance.choice(self.levels)
        self.call("begin", f"BEGIN ISOLATION LEVEL {level}", level=level)
        before = self.remember()
        self.in_block = True
        try:
            for _ in range(steps):
                if self.chance.random() < 0.2:
                    self.behind_savepoint(self.chance.randint(1, 3), step)
                else:
                    step()
            keep = self.chance.random() < 0.7
            self.in_block = False
            if keep and self.commit():
                return
            if not keep:
                self.undo()
        except Refused:
            self.in_block = False
            self.undo()
        self.recall(before)

    def undo(self) -> None:
        """Also a PREPARE or a ROLLBACK can be cancelled, which leaves its transaction open."""
        while True:
            try:
                self.call("rollback", "ROLLBACK")
                return
            except Refused:
                pass

    def commit(self) -> bool:
        """Whether it has; now and then in two phases, which is refused to whoever has changed jobs or limits."""
        if self.chance.random() < 0.95:
            return self.call("commit", "COMMIT") == "COMMIT"
        name = self.next_me
        try:
            if self.call("prepare", f"PREPARE TRANSACTION '{name}'") != "PREPARE TRANSACTION":
                return False
        except Refused:
            self.undo()
            return False
        self.call("commit prepared", f"COMMIT PREPARED '{name}'")
        return True

    def behind_savepoint(self, steps: int, step) -> None:
        self.call("savepoint", "SAVEPOINT s")
        before = self.remember()
        try:
            for _ in range(steps):
                step()
            keep = self.chance.random() < 0.5
        except Refused:
            keep = False
        if keep:
            self.call("release savepoint", "RELEASE SAVEPOINT s")
        else:
            self.call("rollback to savepoint", "ROLLBACK TO SAVEPOINT s; RELEASE SAVEPOINT s")
            self.recall(before)

    def hang_up(self) -> None:
        """Leaves without a word, in the middle of whatever is open."""
        self.log.invoked("disconnect", {})
        self.conn.close()
        raise Lost

    def be_impatient(self) -> None:
        """From now on statements are cut short at some time, or have time again."""
        setting = self.chance.choice(["statement_timeout", "lock_timeout"])
        limit = self.chance.choice([2, 5, 20, 60_000, 60_000, 60_000])
        self.call("set", f"SET {setting} = {limit}")
