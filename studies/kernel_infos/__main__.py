"""`python -m studies.kernel_infos FILE [DELAY]`: record, in a network namespace of one's own, what the kernel answers.

One end of a connection over two subflows sends 100,000 bytes; then its socket is asked. FILE gets a line for each
option: its name and the bytes in hexadecimal digits. `DELAY`, such as 5ms, is one of netem's for the loopback
interface.
"""

import ctypes
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

MPTCP: Final = 262
SOL_MPTCP: Final = 284
SECOND: Final = "10.9.9.1"
SENT_BYTES: Final = 100_000
TCP_INFO: Final = 248
"""Bytes of `struct tcp_info` that the engines ask for of each subflow."""
ADDRESSES: Final = 256
ROOM: Final = 512
"""More than any kernel has of a structure."""
SUBFLOWS: Final = 2
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def ask(number: int, option: int, buffer: "ctypes.Array[ctypes.c_char]") -> bytes:
    """The answer to a getsockopt with this buffer, which may hold a question; empty if the kernel does not know it."""
    size = ctypes.c_uint32(len(buffer))
    done = _LIBC.getsockopt(number, SOL_MPTCP, option, buffer, ctypes.byref(size))
    return buffer.raw[: size.value] if done == 0 else b""


def elements(number: int, option: int, size: int) -> bytes:
    """An option that answers with an array (`struct mptcp_subflow_data`, then elements of at most `size` bytes)."""
    header = b"".join(each.to_bytes(4, sys.byteorder) for each in (16, 0, 0, size))
    return ask(number, option, ctypes.create_string_buffer(header, 16 + SUBFLOWS * size))


def whole(number: int) -> bytes:
    """`struct mptcp_full_info`, whose arrays are elsewhere in memory: without them, but for the pointers to them."""
    arrays = [ctypes.create_string_buffer(SUBFLOWS * ROOM) for _ in range(2)]
    sizes = b"".join(each.to_bytes(4, sys.byteorder) for each in (0, ROOM, 0, ROOM, 0, SUBFLOWS))
    pointers = b"".join(ctypes.addressof(array).to_bytes(8, sys.byteorder) for array in arrays)
    answer = ask(number, 4, ctypes.create_string_buffer(sizes + pointers, 40 + ROOM))
    return answer[:24] + bytes(16) + answer[40:] if answer else b""


def record(file: Path) -> None:
    """Make the connection and write the answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP) as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP) as client:
            client.connect(("127.0.0.1", listener.getsockname()[1]))
            server, _ = listener.accept()
            reader = threading.Thread(target=_read, args=(server,))
            reader.start()
            client.sendall(b"x")
            time.sleep(1)  # until the second subflow is there
            client.sendall(bytes(SENT_BYTES - 1))
            time.sleep(2)
            number = client.fileno()
            answers = {
                "mptcp_info": ask(number, 1, ctypes.create_string_buffer(ROOM)),
                "tcp_info": elements(number, 2, TCP_INFO),
                "addresses": elements(number, 3, ADDRESSES),
                "full_info": whole(number),
            }
            file.write_text("".join(f"{name} {answer.hex()}\n" for name, answer in answers.items()), encoding="ascii")
        reader.join()
        server.close()


def _read(server: socket.socket) -> None:
    while server.recv(1 << 16):
        pass


def main(file: str, delay: str = "") -> None:
    """Set up the namespace and record."""
    commands = [
        "ip link set lo up",
        f"ip address add {SECOND}/32 dev lo",
        "ip mptcp limits set subflows 2 add_addr_accepted 2",
        f"ip mptcp endpoint add {SECOND} signal",
        *([f"tc qdisc add dev lo root netem delay {delay}"] if delay else []),
    ]
    for command in commands:
        subprocess.run(command.split(), check=True)
    Path("/proc/sys/net/mptcp/enabled").write_text("1", encoding="ascii")
    record(Path(file))


if __name__ == "__main__":
    os.environ["PATH"] += os.pathsep + "/usr/sbin:/sbin"
    main(*sys.argv[1:])
