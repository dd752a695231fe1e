"""The key that agents and controllers share: a certificate with its private key, in one file.

Both ends of a control channel show the certificate, prove with TLS 1.3 that they have its private key, and accept no
other: whoever has the file belongs to the testbed, and nobody else does.
"""

import hashlib
import shutil
import ssl
import stat
import subprocess
from pathlib import Path
from typing import Final

from mptcplab import files
from mptcplab.errors import EngineUnavailableError
from mptcplab.files import TargetError

_DAYS: Final = 3650
_NO_CHECK_TIME: Final = ssl.VerifyFlags(0x200000)
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which Python has no name for."""


class KeyFileError(EngineUnavailableError):
    """A key that is not there, or is none; the message says what to do."""


def make(path: Path) -> str:
    """Write a new key to `path`, readable by its owner only; answers its fingerprint.

    Raises KeyFileError where there is a file already or can be none, EngineUnavailableError without openssl, OSError.
    """
    if shutil.which("openssl") is None:
        raise EngineUnavailableError(
            "making a key needs openssl, which was not found; on Debian: apt-get install openssl"
        )
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-sha256", "-days", str(_DAYS), "-subj", "/CN=mptcplab testbed", "-keyout", "-"]
    made = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if made.returncode:
        raise KeyFileError(f"openssl could not make a key: {made.stderr.decode(errors='replace').strip()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.written(path, new=True, private=True) as file:
            file.write(made.stdout)
    except TargetError as error:
        raise KeyFileError(str(error)) from None
    return fingerprint(path)


def fingerprint(path: Path) -> str:
    """The SHA-256 of a key's certificate, in hexadecimal; two files with the same are the same key."""
    return hashlib.sha256(_certificate(path)).hexdigest()


def context(path: Path, *, server: bool) -> ssl.SSLContext:
    """The TLS settings of an end. Raises KeyFileError."""
    _certificate(path)
    settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    settings.minimum_version = ssl.TLSVersion.TLSv1_3
    settings.check_hostname = False  # who has the key is meant, at whatever address
    settings.verify_mode = ssl.CERT_REQUIRED
    # It is the very certificate that counts (`is_ours`), and not what the machines' clocks make of its dates.
    settings.verify_flags |= _NO_CHECK_TIME
    try:
        settings.load_cert_chain(path)
        settings.load_verify_locations(path)
    except (ssl.SSLError, OSError) as error:
        raise KeyFileError(f"{path} is not a key: {error}") from None
    return settings


def is_ours(channel: ssl.SSLSocket, path: Path) -> bool:
    """Whether the other end, which has proved to have its private key, shows the very certificate of `path`."""
    return channel.getpeercert(binary_form=True) == _certificate(path)


def _certificate(path: Path) -> bytes:
    """The certificate of a key, as DER. Raises KeyFileError."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise KeyFileError(
            f"{path}: {error.strerror}; mptcplab agent --new-key {path} makes a key, which all hosts share"
        ) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyFileError(f"{path} can be read by users other than its owner; run chmod 600 {path}")
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    at = text.find(begin)
    until = text.find(end, at)
    if at < 0 or until < 0 or "PRIVATE KEY-----" not in text:
        raise KeyFileError(f"{path} is not a key: it needs a certificate and its private key, as --new-key writes them")
    try:
        return ssl.PEM_cert_to_DER_cert(text[at : until + len(end)] + "\n")
    except ValueError:
        raise KeyFileError(f"{path} is not a key: its certificate cannot be read") from None
