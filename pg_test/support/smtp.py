"""A mail server of the tests' own, which keeps what it is sent."""

import contextlib
import email
import socketserver
import threading
from email.policy import default

ANSWERS = {b"EHLO": b"250 here", b"HELO": b"250 here", b"MAIL": b"250 ok", b"RSET": b"250 ok", b"QUIT": b"221 bye"}


class _Talk(socketserver.StreamRequestHandler):
    def handle(self):
        self._say(b"220 here")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"RCPT":
                self._say(b"550 no such user" if b"nobody@" in line else b"250 ok")
            elif verb == b"DATA":
                self._say(b"354 go on")
                self._keep()
                self._say(b"250 ok")
            else:
                self._say(ANSWERS.get(verb, b"500 what"))

    def _keep(self) -> None:
        lines = iter(self.rfile.readline, b".\r\n")
        self.server.sent.append(email.message_from_bytes(b"".join(lines), policy=default))

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@contextlib.contextmanager
def mail_server(port: int):
    """A list of messages that grows. It takes none for nobody@…"""
    with _Server(("127.0.0.1", port), _Talk) as server:
        server.sent = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.sent
        finally:
            server.shutdown()
