"""A small FTP server (RFC 959, passive mode, RFC 2428's EPSV) whose data connections take further subflows.

A server that closes its passive port once the data connection is there shuts further subflows out: the kernel accepts
a join only on a port that listens. This one listens until the file is through. It serves its working directory to
anyone, for hosts of a laboratory.
"""

import argparse
import socket
import socketserver
from pathlib import Path
from typing import Final

PORT: Final = 2121
_BLOCK_BYTES: Final = 1 << 18


class Session(socketserver.StreamRequestHandler):
    """One control connection."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer commands until QUIT or the end."""
        self.passive: socket.socket | None = None
        self.say(220, "ready")
        try:
            while line := self.rfile.readline(8192):
                command, _, argument = line.decode("utf-8", "replace").strip().partition(" ")
                if command.upper() == "QUIT":
                    self.say(221, "bye")
                    return
                self.answer(command.upper(), argument)
        finally:
            self.close_passive()

    def say(self, code: int, text: str) -> None:
        """A reply of one line."""
        self.wfile.write(f"{code} {text}\r\n".encode())

    def answer(self, command: str, argument: str) -> None:
        """One command."""
        match command:
            case "USER":
                self.say(331, "any password is accepted")
            case "PASS":
                self.say(230, "logged in")
            case "SYST":
                self.say(215, "UNIX Type: L8")
            case "PWD":
                self.say(257, '"/"')
            case "TYPE" | "CWD" | "NOOP" | "OPTS":
                self.say(200, "so be it")
            case "SIZE":
                path = self.path(argument)
                self.say(213, str(path.stat().st_size)) if path.is_file() else self.say(550, "no such file")
            case "EPSV" | "PASV":
                self.open_passive(extended=command == "EPSV")
            case "RETR" | "STOR":
                self.transfer(command, argument)
            case _:
                self.say(502, "not implemented")

    def path(self, argument: str) -> Path:
        """A file of the working directory; nothing outside of it has a name here."""
        return Path(Path(argument).name)

    def open_passive(self, *, extended: bool) -> None:
        """Listen for the data connection."""
        self.close_passive()
        address = self.connection.getsockname()[0]
        self.passive = socket.create_server((address, 0))
        port = self.passive.getsockname()[1]
        if extended:
            self.say(229, f"listening (|||{port}|)")
        else:
            self.say(227, f"listening ({address.replace('.', ',')},{port >> 8},{port & 255})")

    def close_passive(self) -> None:
        """Listen no more."""
        if self.passive is not None:
            self.passive.close()
            self.passive = None

    def transfer(self, command: str, argument: str) -> None:
        """A file, over a connection of its own."""
        path = self.path(argument)
        if self.passive is None:
            self.say(425, "EPSV or PASV first")
            return
        if command == "RETR" and not path.is_file():
            self.say(550, "no such file")
            return
        self.say(150, "here it comes" if command == "RETR" else "go on")
        data, _ = self.passive.accept()
        with data:
            if command == "RETR":
                with path.open("rb") as file:
                    data.sendfile(file)
                data.shutdown(socket.SHUT_WR)
                # The client closes when it has everything; until then further subflows may come.
                data.settimeout(1.0)
                try:
                    while data.recv(1):
                        pass
                except OSError:
                    pass
            else:
                with path.open("wb") as file:
                    while block := data.recv(_BLOCK_BYTES):
                        file.write(block)
        self.close_passive()
        self.say(226, "done")


class Server(socketserver.ThreadingTCPServer):
    """A thread for each control connection."""

    allow_reuse_address = True
    daemon_threads = True


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address")
    parser.add_argument("--port", type=int, default=PORT)
    given = parser.parse_args()
    with Server((given.address, given.port), Session) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
