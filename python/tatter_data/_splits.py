"""Byte ranges of TFRecord files that start and end between records.

A record consists of its length (8 bytes), the masked CRC-32C of these bytes, the data, and the masked CRC-32C of the
data. A position counts as the start of a record if length and checksum match, and the end of the record is followed by
another such position or by the end of the file. The end of a range and the start of the next are found by the same
search from the same offset, so that each record is in exactly one range.
"""

from __future__ import annotations

from typing import IO, Any

import numpy as np

#: Bytes before the data of a record: the length and its checksum.
HEADER = 12
#: Total bytes around the data.
AROUND = 16
_WINDOW = 1 << 20
_MASK_DELTA = 0xA282EAD8


def _table() -> np.ndarray:
    """The CRC-32C of each byte; polynomial 0x1EDC6F41, reflected."""
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = np.where(crc & 1, (crc >> np.uint32(1)) ^ np.uint32(0x82F63B78), crc >> np.uint32(1)).astype(np.uint32)
    return crc


_CRC = _table()


def _headers(data: np.ndarray) -> np.ndarray:
    """Whether a header (a length with a matching checksum) starts at each position of `data`."""
    count = len(data) - HEADER + 1
    if count <= 0:
        return np.zeros(0, bool)
    crc = np.full(count, 0xFFFFFFFF, np.uint32)
    for i in range(8):
        crc = _CRC[(crc ^ data[i : i + count]) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    crc = ~crc
    masked = ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(_MASK_DELTA)
    found = np.zeros(count, np.uint32)
    for i in range(4):
        found |= data[8 + i : 8 + i + count].astype(np.uint32) << np.uint32(8 * i)
    return found == masked


def is_tfrecord(head: bytes) -> bool:
    """Whether a file that starts with `head` is an uncompressed TFRecord."""
    return len(head) >= HEADER and bool(_headers(np.frombuffer(head[:HEADER], np.uint8))[0])


def next_record(file: IO[bytes] | Any, offset: int, size: int) -> int:
    """The first start of a record at or after `offset` of a file of `size` bytes; `size` if there is none."""
    if offset <= 0:
        return 0
    while offset + HEADER <= size:
        file.seek(offset)
        data = file.read(_WINDOW + HEADER - 1)
        for i in np.flatnonzero(_headers(np.frombuffer(data, np.uint8))):
            start = offset + int(i)
            end = start + int.from_bytes(data[i : i + 8], "little") + AROUND
            if end == size or (end + HEADER <= size and is_tfrecord(_at(file, end))):
                return start
        offset += _WINDOW
    return size


def _at(file: Any, offset: int) -> bytes:
    file.seek(offset)
    head: bytes = file.read(HEADER)
    return head


def ranges(size: int, about: int) -> list[tuple[int, int]]:
    """Divides a file into byte ranges of about equal size; `next_record` moves their ends to record boundaries.

    >>> ranges(10, 4)
    [(0, 3), (3, 6), (6, 10)]
    """
    count = max(1, -(-size // about))
    cuts = [size * i // count for i in range(count + 1)]
    return list(zip(cuts, cuts[1:]))
