"""Encrypts and decrypts files: a header, then chunks of AES-256-GCM as in STREAM."""

import hmac
import os
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from key_wrap import derive_key

MAGIC = b"PROBATIO\x01"
HEADER_BYTES = 84
TAG_BYTES = 16
SALT_BYTES = 32
NONCE_PREFIX_BYTES = 7
SEGMENT_BYTES = 1024 * 1024
SEGMENT_BYTES_RANGE = range(128, 16 * 1024 * 1024 + 1)
MAX_CHUNKS = 2**32


@dataclass(frozen=True)
class Header:
    segment_bytes: int
    salt: bytes
    nonce_prefix: bytes
    commitment: bytes

    def encode(self) -> bytes:
        size = self.segment_bytes.to_bytes(4, "big")
        return MAGIC + size + self.salt + self.nonce_prefix + self.commitment


def commitment(file_key: bytes, salt: bytes) -> bytes:
    return derive_key(file_key, "Service_File_Commitment_v1", salt)


def create_header(
    file_key: bytes,
    segment_bytes: int = SEGMENT_BYTES,
    salt: bytes | None = None,
    nonce_prefix: bytes | None = None,
) -> Header:
    """Creates a header. Only test vectors pass a salt and a nonce prefix: they must never be
    reused."""
    salt = os.urandom(SALT_BYTES) if salt is None else salt
    nonce_prefix = os.urandom(NONCE_PREFIX_BYTES) if nonce_prefix is None else nonce_prefix
    return Header(segment_bytes, salt, nonce_prefix, commitment(file_key, salt))


def parse_header(encrypted: bytes) -> Header:
    """Parses a header. Raises ValueError unless it is one of version 1."""
    header = encrypted[:HEADER_BYTES]
    if len(header) < HEADER_BYTES or not header.startswith(MAGIC):
        raise ValueError("not an encrypted file of version 1")
    segment_bytes = int.from_bytes(header[9:13], "big")
    if segment_bytes not in SEGMENT_BYTES_RANGE:
        raise ValueError("the segment size is out of range")
    return Header(segment_bytes, header[13:45], header[45:52], header[52:84])


class Chunks:
    """Encrypts and decrypts single chunks of one file."""

    def __init__(self, file_key: bytes, header: Header) -> None:
        self._cipher = AESGCM(derive_key(file_key, "Service_File_Chunk_v1", header.salt))
        self._header = header

    def _nonce(self, index: int, is_last: bool) -> bytes:
        return self._header.nonce_prefix + index.to_bytes(4, "big") + bytes([is_last])

    def encrypt(self, index: int, plaintext: bytes, is_last: bool) -> bytes:
        return self._cipher.encrypt(self._nonce(index, is_last), plaintext, self._header.encode())

    def decrypt(self, index: int, chunk: bytes, is_last: bool) -> bytes:
        return self._cipher.decrypt(self._nonce(index, is_last), chunk, self._header.encode())


def split(data: bytes, first: int, other: int) -> list[bytes]:
    """Splits data into a piece of up to `first` bytes and others of up to `other`; no data gives
    one piece."""
    starts = range(first, len(data), other)
    return [data[:first], *(data[start : start + other] for start in starts)]


def encrypt_file(file_key: bytes, header: Header, plaintext: bytes) -> bytes:
    room = header.segment_bytes - TAG_BYTES
    pieces = split(plaintext, room - HEADER_BYTES, room)
    chunks = Chunks(file_key, header)
    last = len(pieces) - 1
    if last >= MAX_CHUNKS:
        raise ValueError("the file is too large")
    return header.encode() + b"".join(
        chunks.encrypt(index, piece, index == last) for index, piece in enumerate(pieces)
    )


def decrypt_file(file_key: bytes, encrypted: bytes) -> bytes:
    """Decrypts a file. Raises ValueError or InvalidTag unless it is whole and encrypted under this
    key."""
    header = parse_header(encrypted)
    if not hmac.compare_digest(header.commitment, commitment(file_key, header.salt)):
        raise ValueError("the file is committed to another key")
    size = header.segment_bytes
    pieces = split(encrypted[HEADER_BYTES:], size - HEADER_BYTES, size)
    last = len(pieces) - 1
    if last > 0 and len(pieces[last]) <= TAG_BYTES:
        raise ValueError("the last chunk is empty")
    chunks = Chunks(file_key, header)
    return b"".join(
        chunks.decrypt(index, piece, index == last) for index, piece in enumerate(pieces)
    )
