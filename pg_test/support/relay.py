"""A port that leads to the server until it is cut: so a server is lost for one program alone."""

import contextlib
import os
import socket
import threading


class Relay:
    """Takes connections on a port of 127.0.0.1 and passes their bytes on to the server of the environment."""

    def __init__(self):
        self._places: list[socket.socket] = []
        self._listener = None
        self.port = 0
        self.open()

    def open(self) -> None:
        """On the port that it had before, if it had one."""
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))
        self._listener.listen()
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """Ends all connections and takes no more."""
        for place in [self._listener, *self._places]:
            with contextlib.suppress(OSError):
                place.shutdown(socket.SHUT_RDWR)
            place.close()
        self._places.clear()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", int(os.environ["PGPORT"])))
                self._places += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
