"""Where a Dask scheduler is: whether its address can be one, and whether anything answers there."""

from __future__ import annotations

import re
import socket

SECONDS_TO_ANSWER = 4.0
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


def refuse_if_silent(engine: str) -> None:
    """Raise ``NoScheduler`` where ``engine`` names a cluster that nothing answers for.

    A scheduler speaks first. Dask itself would wait for ever for the first word of what listens but is none.
    """
    kind, colon, address = engine.partition(":")
    if kind != "dask" or not colon:
        return
    try:
        with socket.create_connection(host_and_port(address), timeout=SECONDS_TO_ANSWER) as connection:
            encrypted = "://" in address and not address.startswith("tcp://")  # there the client speaks first
            if not encrypted and not connection.recv(1):
                raise ConnectionError("it hung up")
    except OSError as error:
        raise NoScheduler(address, error.strerror or str(error)) from None
