"""Archives that are the same bytes for the same contents: nothing of the machine, the user or the clock is in them."""

from __future__ import annotations

import io
import struct
import tarfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A file, or a directory where there is no `data`."""

    path: str
    data: bytes | None = None
    mode: int = 0o644
    owner: int = 0
    """User and group."""


def tar(entries: Iterable[Entry], mtime: int = 0) -> bytes:
    """A tar (POSIX ustar) of the entries, sorted by path, all of them last changed at `mtime` (seconds since 1970)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in sorted(entries, key=lambda entry: entry.path):
            info = tarfile.TarInfo(entry.path)
            info.type = tarfile.DIRTYPE if entry.data is None else tarfile.REGTYPE
            info.size = len(entry.data or b"")
            info.mode = entry.mode
            info.uid = info.gid = entry.owner
            info.mtime = mtime
            archive.addfile(info, io.BytesIO(entry.data or b""))
    return buffer.getvalue()


def gzip(data: bytes) -> bytes:
    """One gzip member (RFC 1952) without a name or a time.

    The header is written here, because that of Python's `gzip` differs from version to version. What follows is up to the zlib
    that Python has: the same one makes the same bytes.
    """
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    header = b"\x1f\x8b\x08\x00" + b"\x00" * 4 + b"\x02\xff"  # deflate, no flags, no time, slowest, system unknown
    return header + deflate.compress(data) + deflate.flush() + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
