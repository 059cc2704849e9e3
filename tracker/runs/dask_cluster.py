"""Check a Dask scheduler: whether the address is valid, whether it answers, and whether its workers have this program.

``dask:tcp://HOST:PORT`` trusts the network in between. ``dask:tls://HOST:PORT`` is encrypted, and both sides show
certificates: those that Dask's configuration names, in files or in variables of the environment,

    DASK_DISTRIBUTED__COMM__TLS__CA_FILE         who signed the certificates of both sides
    DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT    ours
    DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY     and its key

and the same with SCHEDULER and WORKER in place of CLIENT for ``dask scheduler --protocol tls`` and ``dask worker``.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
import time
from contextlib import suppress
from typing import Any

from tracker.runs.workers import OtherProgram, program

SECONDS_TO_ANSWER = 2.0
LONGEST_GREETING, MOST_PARTS = 2**20, 100  # bytes; Dask's own has some hundred, in two or three parts
CERTIFICATES = (
    "set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and "
    "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"
)
# tcp://host:8786, host:8786, tls://[::1]:8786
_ADDRESS = re.compile(
    r"(?:[a-z]+://)?(?P<host>\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?):(?P<port>[0-9]{1,5})"
)


class NoScheduler(ConnectionError):
    """Nothing answers at the address of a Dask cluster, or nothing that is a scheduler."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"dask:{address}: no scheduler answers there ({reason}); `dask scheduler` starts one and prints its address, "
            f"the engine dask starts a cluster of its own"
        )


def host_and_port(address: str) -> tuple[str, int]:
    """Return what ``address`` means; ``ValueError`` where it cannot be the address of a scheduler."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 2**16:
        raise ValueError(f"dask:{address}: must be dask:HOST:PORT, as in dask:tcp://127.0.0.1:8786")
    return found["host"].strip("[]"), int(found["port"])


def refuse_if_silent(engine: str, plugins: tuple[str, ...] = ()) -> None:
    """Raise where ``engine`` names a cluster that cannot compute for us, before anything is written.

    Raises
    ------
    NoScheduler
        If nothing answers at the address in time, or something that is no scheduler.
    OtherProgram
        If its workers have another program than this one.
    """
    kind, colon, address = engine.partition(":")
    if kind != "dask":
        return
    import distributed  # noqa: F401  (whoever lacks it is told now)

    if not colon:
        return
    host_and_port(address)
    _listen(address)
    client = connect(address)
    try:
        _compare(client, plugins)
    finally:
        with suppress(Exception):
            client.close(SECONDS_TO_ANSWER)


def _listen(address: str) -> None:
    """Hear the first words of a scheduler: the length of its greeting, and of how many parts it is.

    Dask itself would wait for ever for the first word of what listens but is none, and take any length for true.
    """
    try:
        with socket.create_connection(host_and_port(address), timeout=SECONDS_TO_ANSWER) as plain:
            plain.settimeout(SECONDS_TO_ANSWER)
            encrypted = address.startswith("tls://")
            with _secret(address).wrap_socket(plain) if encrypted else plain as connection:
                words = _received(connection, 16)
    except ssl.SSLError as error:
        raise NoScheduler(address, f"no TLS connection: {error.reason or error}") from None
    except OSError as error:
        raise NoScheduler(address, error.strerror or str(error)) from None
    length, parts = struct.unpack("<QQ", words)
    if not (0 < length <= LONGEST_GREETING and 0 < parts <= MOST_PARTS):
        raise NoScheduler(address, "what it says is no greeting of Dask's")


def _received(connection: socket.socket, count: int) -> bytes:
    """Return the first bytes, however slowly they drip in, but not later than the last moment."""
    words, end = b"", time.monotonic() + SECONDS_TO_ANSWER
    while len(words) < count:
        connection.settimeout(max(0.01, end - time.monotonic()))
        more = connection.recv(count - len(words))
        if not more:
            raise ConnectionError("it hung up")
        words += more
    return words


def _secret(address: str) -> ssl.SSLContext:
    """Return the certificates that Dask's own configuration names."""
    from distributed.security import Security

    try:
        context = Security().get_connection_args("client").get("ssl_context")
    except (OSError, ValueError) as error:
        raise NoScheduler(address, f"its certificates cannot be read: {error}") from None
    if context is None:
        raise NoScheduler(address, f"tls:// needs certificates: {CERTIFICATES}")
    return context


def connect(address: str) -> Any:
    """Return a client of the cluster at ``address``."""
    from distributed import Client

    try:
        return Client(address, set_as_default=False, timeout=SECONDS_TO_ANSWER)
    except Exception as error:  # of any kind: Dask raises what the other side makes it stumble over
        raise NoScheduler(address, " ".join(f"{type(error).__name__}: {error}".split())[:200]) from None


def _compare(client: Any, plugins: tuple[str, ...]) -> None:
    """Ask every worker for its program; there may be none yet."""
    here = program(plugins)
    try:
        found = client.run(program, plugins)
    except Exception as error:  # whatever the other side raises, most likely that it has no such module
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise OtherProgram(
            f"the workers cannot compute for this program ({reason}): install the same version there"
        ) from None
    for worker, there in found.items():
        if there != here:
            raise OtherProgram(f"the worker {worker} has {there}, not {here}: install the same version there")
