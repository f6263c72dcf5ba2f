"""Signs, encrypts and opens the reports with which a user's devices tell each other what they saw."""

import json
import os
from hashlib import sha3_256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import strict_base64
from key_wrap import derive_key

VERSION = 1
REPORT, LIST = 0, 1
PREFIX_BYTES = 6
NONCE_BYTES = 12
SIGNATURE_BYTES = 64
BLOCK_BYTES = 256
SIGNATURE_LABEL = b"Service_Memory_Report_Signature_v1\x00"


def report_key(master_key: bytes) -> bytes:
    return derive_key(master_key, "Service_Memory_Report_v1")


def encode_place(prefix: bytes, writer: str, number: int) -> bytes:
    return prefix + writer.encode() + number.to_bytes(4, "big")


def seal_report(
    master_key: bytes,
    generation: int,
    seed: bytes,
    writer: str,
    number: int,
    report: dict,
    *,
    kind: int = REPORT,
    nonce: bytes | None = None,
) -> str:
    """Signs and encrypts a report for its place. Only test vectors pass a nonce."""
    nonce = os.urandom(NONCE_BYTES) if nonce is None else nonce
    prefix = bytes([VERSION, kind]) + generation.to_bytes(4, "big")
    place = encode_place(prefix, writer, number)
    text = json.dumps(report, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % BLOCK_BYTES)
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(SIGNATURE_LABEL + place + text)
    sealed = AESGCM(report_key(master_key)).encrypt(nonce, signature + text, place)
    return strict_base64.encode(prefix + nonce + sealed)


def open_report(
    master_key: bytes, signing_key: bytes, writer: str, number: int, record: str
) -> tuple[int, int, dict]:
    """Returns kind, generation and content. Raises InvalidTag, InvalidSignature or ValueError
    unless the report was encrypted and signed for this place."""
    data = strict_base64.decode(record)
    prefix, rest = data[:PREFIX_BYTES], data[PREFIX_BYTES:]
    kind, generation = read_prefix(record)
    place = encode_place(prefix, writer, number)
    opened = AESGCM(report_key(master_key)).decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], place)
    signature, text = opened[:SIGNATURE_BYTES], opened[SIGNATURE_BYTES:]
    public_key = Ed25519PublicKey.from_public_bytes(signing_key)
    public_key.verify(signature, SIGNATURE_LABEL + place + text)
    return kind, generation, json.loads(text)


def read_prefix(record: str) -> tuple[int, int]:
    """Returns the kind and the generation of a record, which are not authenticated yet."""
    prefix = strict_base64.decode(record)[:PREFIX_BYTES]
    if prefix[:1] != bytes([VERSION]):
        raise ValueError("unknown version of a report")
    return prefix[1], int.from_bytes(prefix[2:], "big")


def hash_report(record: str) -> str:
    return sha3_256(strict_base64.decode(record)).hexdigest()
