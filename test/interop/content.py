"""Commits to plaintexts, opens the commitments, and verifies originals against openings."""

import os
import re
from collections.abc import Sequence
from hashlib import sha3_256, sha256
from typing import Any, NamedTuple, TypedDict

from key_wrap import derive_key

SEGMENT_BYTES = 1_048_576
SEED_BYTES = 32
MAX_SIZE = 2**53 - 1
MAX_SEGMENTS = 65_536


class Content(TypedDict):
    """The member `content` of metadata."""

    seed: str
    root: str
    sha256: str


class Proven(NamedTuple):
    """The proven part of a file: all of it, or ranges of offset and length."""

    whole: bool
    ranges: list[tuple[int, int]]


def split(plaintext: bytes) -> list[bytes]:
    starts = range(0, len(plaintext), SEGMENT_BYTES)
    return [plaintext[start : start + SEGMENT_BYTES] for start in starts] or [b""]


def count_segments(size: int) -> int:
    return max(1, -(-size // SEGMENT_BYTES))


def segment_salt(seed: bytes, index: int) -> bytes:
    return derive_key(seed, f"Service_Content_Segment_Salt_v1:{index}")


def leaf_hash(salt: bytes, segment: bytes) -> bytes:
    return sha256(b"\x00" + salt + segment).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def levels(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """Returns the nodes of a tree level by level, from the leaves to the head."""
    found = [list(leaves)]
    while len(found[-1]) > 1:
        below = found[-1]
        above = [node_hash(*below[at : at + 2]) for at in range(0, len(below) - 1, 2)]
        found.append(above + below[len(below) - len(below) % 2 :])
    return found


def tree_head(leaves: Sequence[bytes]) -> bytes:
    return levels(leaves)[-1][0]


def audit_path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Returns the siblings on the way from a leaf to the head."""
    path = []
    for level in levels(leaves):
        sibling = index ^ 1
        if sibling < len(level):
            path.append(level[sibling])
        index >>= 1
    return path


def head_of_path(leaf: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes:
    """Computes the head from a leaf and its path. Raises ValueError for a path of another
    length."""
    rest = list(path)
    head, last = leaf, count - 1
    while last > 0:
        if index % 2 == 1 or index < last:
            if not rest:
                raise ValueError("the path is too short")
            sibling = rest.pop(0)
            head = node_hash(sibling, head) if index % 2 == 1 else node_hash(head, sibling)
        index, last = index // 2, last // 2
    if rest:
        raise ValueError("the path is too long")
    return head


def hash_leaves(seed: bytes, plaintext: bytes) -> list[bytes]:
    segments = enumerate(split(plaintext))
    return [leaf_hash(segment_salt(seed, index), segment) for index, segment in segments]


def create_content(plaintext: bytes, seed: bytes | None = None) -> Content:
    """Hashes a plaintext. Only test vectors pass a seed: each version needs one of its own."""
    seed = os.urandom(SEED_BYTES) if seed is None else seed
    return Content(
        seed=seed.hex(),
        root=tree_head(hash_leaves(seed, plaintext)).hex(),
        sha256=sha256(plaintext).hexdigest(),
    )


def commitment_salt(seed: bytes) -> bytes:
    return derive_key(seed, "Service_Content_Commitment_Salt_v1")


def whole_hash(seed: bytes, digest: bytes) -> bytes:
    salt = derive_key(seed, "Service_Content_Whole_Salt_v1")
    return sha3_256(b"Service_Content_Whole_v1\x00" + salt + digest).digest()


def commit(salt: bytes, root: bytes, whole: bytes, size: int) -> str:
    committed = salt + root + whole + size.to_bytes(8, "big")
    return sha3_256(b"Service_Content_Commitment_v1\x00" + committed).hexdigest()


def content_commitment(content: Content, size: int) -> str:
    seed, root, digest = (bytes.fromhex(content[name]) for name in ("seed", "root", "sha256"))
    return commit(commitment_salt(seed), root, whole_hash(seed, digest), size)


def full_opening(content: Content, size: int) -> dict[str, Any]:
    members = {name: content[name] for name in ("seed", "root", "sha256")}
    return {"v": 1, **members, "size": size}


def segments_opening(
    content: Content, plaintext: bytes, indexes: Sequence[int]
) -> dict[str, Any]:
    seed = bytes.fromhex(content["seed"])
    leaves = hash_leaves(seed, plaintext)
    if tree_head(leaves).hex() != content["root"]:
        raise ValueError("the content is of another file")
    return {
        "v": 1,
        "commitmentSalt": commitment_salt(seed).hex(),
        "whole": whole_hash(seed, bytes.fromhex(content["sha256"])).hex(),
        "root": content["root"],
        "size": len(plaintext),
        "segments": [
            {
                "index": index,
                "salt": segment_salt(seed, index).hex(),
                "path": [node.hex() for node in audit_path(leaves, index)],
            }
            for index in sorted(indexes)
        ],
    }


def parse_hash(value: Any) -> bytes:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise ValueError("not 64 hex digits")
    return bytes.fromhex(value)


def parse_number(value: Any, limit: int) -> int:
    if type(value) is not int or not 0 <= value <= limit:
        raise ValueError("not a number, or out of range")
    return value


def check_members(value: Any, names: set[str]) -> None:
    if not isinstance(value, dict) or set(value) != names:
        raise ValueError("other members than an opening must have")


def verify_opening(opening: Any, commitment: str, original: bytes) -> Proven:
    """Verifies that a file is the one of a content commitment. Raises ValueError unless it is."""
    if not isinstance(opening, dict) or type(opening.get("v")) is not int or opening["v"] != 1:
        raise ValueError("not an opening of version 1")
    if "segments" in opening:
        return verify_segments(opening, commitment, original)
    check_members(opening, {"v", "seed", "root", "sha256", "size"})
    seed, _, _ = (parse_hash(opening[name]) for name in ("seed", "root", "sha256"))
    size = parse_number(opening["size"], MAX_SIZE)
    content = Content(seed=opening["seed"], root=opening["root"], sha256=opening["sha256"])
    if content_commitment(content, size) != commitment:
        raise ValueError("the opening is of another commitment")
    if size != len(original) or create_content(original, seed) != content:
        raise ValueError("the file is another one")
    return Proven(True, [])


def verify_segments(opening: dict[str, Any], commitment: str, original: bytes) -> Proven:
    check_members(opening, {"v", "commitmentSalt", "whole", "root", "size", "segments"})
    salt, root, whole = (parse_hash(opening[name]) for name in ("commitmentSalt", "root", "whole"))
    size = parse_number(opening["size"], MAX_SIZE)
    segments = opening["segments"]
    if not isinstance(segments, list) or not 1 <= len(segments) <= MAX_SEGMENTS:
        raise ValueError("no segments, or too many")
    if commit(salt, root, whole, size) != commitment:
        raise ValueError("the opening is of another commitment")
    if size != len(original):
        raise ValueError("the file has another size")
    count = count_segments(size)
    ranges, least = [], 0
    for segment in segments:
        check_members(segment, {"index", "salt", "path"})
        index = parse_number(segment["index"], count - 1)
        if index < least or not isinstance(segment["path"], list):
            raise ValueError("the segments are not in order, or have no path")
        offset, least = index * SEGMENT_BYTES, index + 1
        data = original[offset : offset + SEGMENT_BYTES]
        leaf = leaf_hash(parse_hash(segment["salt"]), data)
        path = [parse_hash(node) for node in segment["path"]]
        if head_of_path(leaf, index, count, path) != root:
            raise ValueError("a segment is another one")
        ranges.append((offset, len(data)))
    return Proven(False, ranges)


def verify_original(entry: dict[str, Any], opening: Any, original: bytes) -> Proven:
    """Verifies that a file is what a verified entry sealed. Raises ValueError unless it is."""
    match entry:
        case {
            "action": "document.sealed",
            "outcome": "success",
            "data": {"contentCommitment": str(commitment)},
        }:
            return verify_opening(opening, commitment, original)
    raise ValueError("the entry says nothing of an original")
