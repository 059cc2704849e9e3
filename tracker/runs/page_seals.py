"""Put a checksum into pages and figures, by which the program knows its own unchanged files.

The program may overwrite or remove its own pages and figures, but not a user's file of the same name. So each ends with a
comment that holds the sha256 of everything before it.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import NamedTuple

KEYWORD = b"tracker-sha256"


class Seal(NamedTuple):
    """How the sum stands in a file: between ``before`` and ``after``, at its end; ``begins`` is how such a file begins."""

    begins: bytes
    before: bytes
    after: bytes


SEALS = {
    "html": Seal(b"<!doctype html>", b"<!-- " + KEYWORD + b" ", b" -->\n"),
    "svg": Seal(b"<?xml", b"<!-- " + KEYWORD + b" ", b" -->\n"),
    "pdf": Seal(b"%PDF", b"%" + KEYWORD + b" ", b"\n"),
    "png": Seal(b"\x89PNG", b"", b""),
}
CHECKSUM_LENGTH = 2 * hashlib.sha256().digest_size
PNG_END = struct.pack(">I", 0) + b"IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
PNG_CHUNK = 12 + len(KEYWORD) + 1 + CHECKSUM_LENGTH


def with_seal(data: bytes, kind: str) -> bytes:
    """Return the file ``data`` of the format ``kind`` with its seal."""
    if kind == "png":  # a picture ends with a chunk of its own: the text goes before it
        return data[: -len(PNG_END)] + _text_chunk(data) + PNG_END
    seal = SEALS[kind]
    return data + seal.before + _sum(data) + seal.after


def is_sealed(data: bytes, kind: str) -> bool:
    """Tell whether ``data`` is what ``with_seal`` returned, to the last bit."""
    return _without(data, kind) is not None


def has_seal(data: bytes, kind: str) -> bool:
    """Tell whether ``data`` carries a seal, right or wrong."""
    return KEYWORD in data[-2 * PNG_CHUNK :] and data[: len(SEALS[kind].begins)].lower() == SEALS[kind].begins.lower()


def _without(data: bytes, kind: str) -> bytes | None:
    if kind == "png":
        plain = data[: -len(PNG_END) - PNG_CHUNK] + PNG_END
    else:
        seal = SEALS[kind]
        plain = data[: max(0, len(data) - len(seal.before) - CHECKSUM_LENGTH - len(seal.after))]
    return plain if with_seal(plain, kind) == data else None


def _sum(data: bytes) -> bytes:
    return hashlib.sha256(KEYWORD + b"\0" + data).hexdigest().encode()


def _text_chunk(data: bytes) -> bytes:
    content = b"tEXt" + KEYWORD + b"\0" + _sum(data)
    return struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
