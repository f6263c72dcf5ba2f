"""Implements SRP-6a, for tests only: Python's integers do not take constant time."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha3_256
from typing import NamedTuple


@dataclass(frozen=True)
class Group:
    prime: int
    generator: int
    hash: Callable[[bytes], bytes]

    def pad(self, number: int) -> bytes:
        return number.to_bytes((self.prime.bit_length() + 7) // 8, "big")

    def hash_number(self, *parts: bytes) -> int:
        return int.from_bytes(self.hash(b"".join(parts)), "big")


class Proofs(NamedTuple):
    M1: bytes
    M2: bytes


def secret_exponent(group: Group, salt: bytes, auth_key: bytes) -> int:
    return group.hash_number(salt, auth_key)


def verifier(group: Group, x: int) -> int:
    return pow(group.generator, x, group.prime)


def multiplier(group: Group) -> int:
    return group.hash_number(group.pad(group.prime), group.pad(group.generator))


def public_value(group: Group, a: int) -> int:
    return pow(group.generator, a, group.prime)


def scrambler(group: Group, A: int, B: int) -> int:
    return group.hash_number(group.pad(A), group.pad(B))


def shared_secret(group: Group, x: int, a: int, B: int) -> int:
    """Computes S. Raises ValueError for a B that a client must refuse."""
    if not 0 < B < group.prime:
        raise ValueError("B is outside the group")
    u = scrambler(group, public_value(group, a), B)
    if u == 0:
        raise ValueError("u is zero")
    base = B - multiplier(group) * verifier(group, x)
    return pow(base % group.prime, a + u * x, group.prime)


def session_key(group: Group, secret: int) -> bytes:
    return group.hash(group.pad(secret))


def proofs(group: Group, A: int, B: int, key: bytes) -> Proofs:
    M1 = group.hash(group.pad(A) + group.pad(B) + key)
    return Proofs(M1, group.hash(group.pad(A) + M1 + key))


def verify_server(expected: Proofs, M2: bytes) -> None:
    """Checks M2. Raises ValueError unless the server knows the verifier."""
    if not hmac.compare_digest(expected.M2, M2):
        raise ValueError("the server's proof is wrong")


def fingerprint(group: Group, salt: bytes, verifier: int) -> str:
    return group.hash(salt + group.pad(verifier)).hex()[:8]


VAULT_GROUP = Group(
    prime=int(
        """
        ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22514a08798e3404dd
        ef9519b3cd3a431b302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed
        ee386bfb5a899fa5ae9f24117c4b1fe649286651ece45b3dc2007cb8a163bf0598da48361c55d39a69163fa8fd24cf5f
        83655d23dca3ad961c62f356208552bb9ed529077096966d670c354e4abc9804f1746c08ca18217c32905e462e36ce3b
        e39e772c180e86039b2783a2ec07a28fb5c55df06f4c52c9de2bcbf6955817183995497cea956ae515d2261898fa0510
        15728e5a8aaac42dad33170d04507a33a85521abdf1cba64ecfb850458dbef0a8aea71575d060c7db3970f85a6e1e4c7
        abf5ae8cdb0933d71e8c94e04a25619dcee3d2261ad2ee6bf12ffa06d98a0864d87602733ec86a64521f2b18177b200c
        bbe117577a615d6c770988c0bad946e208e24fa074e5ab3143db5bfce0fd108e4b82d120a93ad2caffffffffffffffff
        """.translate(str.maketrans("", "", " \n")),
        16,
    ),
    generator=2,
    hash=lambda data: sha3_256(data).digest(),
)
