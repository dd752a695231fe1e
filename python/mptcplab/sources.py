"""The digest of the Rust sources: the build writes it into the core, so that a core older than its checkout is noticed.

Run as a program it prints the digest of its checkout. It imports nothing of the package, which is built afterwards.
"""

import hashlib
import sys
from pathlib import Path


def digest(root: Path) -> str:
    """SHA-256 of names and contents of what the core is built from, under the checkout's root."""
    files = [
        root / "Cargo.toml",
        root / "Cargo.lock",
        *root.glob("crates/*/Cargo.toml"),
        *root.glob("crates/*/src/**/*.rs"),
    ]
    whole = hashlib.sha256()
    for name, file in sorted((file.relative_to(root).as_posix(), file) for file in files):
        content = file.read_bytes()
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()


if __name__ == "__main__":
    sys.stdout.write(digest(Path(__file__).resolve().parents[2]) + "\n")
