"""Makes content.json from docs/formats.md alone, with Python's own library and nothing of the
TypeScript client. Run: python3 content.generate.py"""

import hmac
import json
from hashlib import sha256, sha3_256
from pathlib import Path

SEGMENT_BYTES = 1_048_576


def hkdf(key: bytes, label: str) -> bytes:
    """HKDF-SHA-256 with an empty salt and one block of output (RFC 5869)."""
    extracted = hmac.new(bytes(32), key, sha256).digest()
    return hmac.new(extracted, label.encode() + b"\x01", sha256).digest()


def split(plaintext: bytes) -> list[bytes]:
    starts = range(0, len(plaintext), SEGMENT_BYTES)
    return [plaintext[start : start + SEGMENT_BYTES] for start in starts] or [b""]


def segment_salt(seed: bytes, index: int) -> bytes:
    return hkdf(seed, f"Service_Content_Segment_Salt_v1:{index}")


def largest_power_below(count: int) -> int:
    return 1 << (count - 1).bit_length() - 1


def tree_head(hashes: list[bytes]) -> bytes:
    """MTH of RFC 6962 section 2.1, of leaves that are hashed already."""
    if len(hashes) == 1:
        return hashes[0]
    k = largest_power_below(len(hashes))
    return sha256(b"\x01" + tree_head(hashes[:k]) + tree_head(hashes[k:])).digest()


def audit_path(index: int, hashes: list[bytes]) -> list[bytes]:
    """PATH of RFC 6962 section 2.1.1, bottom up."""
    if len(hashes) == 1:
        return []
    k = largest_power_below(len(hashes))
    if index < k:
        return [*audit_path(index, hashes[:k]), tree_head(hashes[k:])]
    return [*audit_path(index - k, hashes[k:]), tree_head(hashes[:k])]


def content_vector(name: str, size: int, disclosed: list[int]) -> dict:
    plaintext = bytes(index % 251 for index in range(size))
    seed = sha256(b"content seed " + name.encode()).digest()
    segments = split(plaintext)
    salts = [segment_salt(seed, index) for index in range(len(segments))]
    leaves = [
        sha256(b"\x00" + salt + segment).digest() for salt, segment in zip(salts, segments)
    ]
    root = tree_head(leaves)
    digest = sha256(plaintext).digest()
    commitment_salt = hkdf(seed, "Service_Content_Commitment_Salt_v1")
    whole_salt = hkdf(seed, "Service_Content_Whole_Salt_v1")
    whole = sha3_256(b"Service_Content_Whole_v1\x00" + whole_salt + digest).digest()
    committed = commitment_salt + root + whole + size.to_bytes(8, "big")
    commitment = sha3_256(b"Service_Content_Commitment_v1\x00" + committed).hexdigest()
    return {
        "name": name,
        "size": size,
        "seed": seed.hex(),
        "salts": [salt.hex() for salt in salts],
        "leaves": [leaf.hex() for leaf in leaves],
        "root": root.hex(),
        "sha256": digest.hex(),
        "commitmentSalt": commitment_salt.hex(),
        "wholeSalt": whole_salt.hex(),
        "whole": whole.hex(),
        "contentCommitment": commitment,
        "fullOpening": {
            "v": 1,
            "seed": seed.hex(),
            "root": root.hex(),
            "sha256": digest.hex(),
            "size": size,
        },
        "segmentsOpening": {
            "v": 1,
            "commitmentSalt": commitment_salt.hex(),
            "whole": whole.hex(),
            "root": root.hex(),
            "size": size,
            "segments": [
                {
                    "index": index,
                    "salt": salts[index].hex(),
                    "path": [hash_.hex() for hash_ in audit_path(index, leaves)],
                }
                for index in disclosed
            ],
        },
    }


vectors = [
    content_vector("empty", 0, [0]),
    content_vector("one byte", 1, [0]),
    content_vector("a byte less than one segment", SEGMENT_BYTES - 1, [0]),
    content_vector("one segment", SEGMENT_BYTES, [0]),
    content_vector("a byte more than one segment", SEGMENT_BYTES + 1, [1]),
    content_vector("three segments and five bytes", 3 * SEGMENT_BYTES + 5, [1, 3]),
]
Path(__file__).with_name("content.json").write_text(json.dumps(vectors, indent=2) + "\n")
