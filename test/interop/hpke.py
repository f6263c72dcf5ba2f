"""Encrypts a key for an X25519 public key: HPKE (RFC 9180) in base mode, single shot."""

import hmac
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ENC_BYTES = 32
KEM_SUITE = b"KEM" + (0x0020).to_bytes(2, "big")
SUITE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x0020, 0x0001, 0x0002))


def open_sealed(private_key: bytes, info: bytes, wrapped_key: bytes) -> bytes:
    enc, ciphertext = wrapped_key[:ENC_BYTES], wrapped_key[ENC_BYTES:]
    recipient = X25519PrivateKey.from_private_bytes(private_key)
    secret = recipient.exchange(X25519PublicKey.from_public_bytes(enc))
    key, nonce = schedule_keys(secret, enc + recipient.public_key().public_bytes_raw(), info)
    return AESGCM(key).decrypt(nonce, ciphertext, b"")


def seal(public_key: bytes, info: bytes, text: bytes) -> bytes:
    sender = X25519PrivateKey.generate()
    enc = sender.public_key().public_bytes_raw()
    secret = sender.exchange(X25519PublicKey.from_public_bytes(public_key))
    key, nonce = schedule_keys(secret, enc + public_key, info)
    return enc + AESGCM(key).encrypt(nonce, text, b"")


def schedule_keys(secret: bytes, context: bytes, info: bytes) -> tuple[bytes, bytes]:
    """Returns key and nonce of the one message."""
    prk = labeled_extract(KEM_SUITE, b"", b"eae_prk", secret)
    shared_secret = labeled_expand(KEM_SUITE, prk, b"shared_secret", context, 32)
    schedule = (
        b"\0"
        + labeled_extract(SUITE, b"", b"psk_id_hash", b"")
        + labeled_extract(SUITE, b"", b"info_hash", info)
    )
    key_prk = labeled_extract(SUITE, shared_secret, b"secret", b"")
    key = labeled_expand(SUITE, key_prk, b"key", schedule, 32)
    return key, labeled_expand(SUITE, key_prk, b"base_nonce", schedule, 12)


def labeled_extract(suite: bytes, salt: bytes, label: bytes, ikm: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, sha256)


def labeled_expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """Expands a secret. One block is enough, since no output here is longer than 32 bytes."""
    labeled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(prk, labeled + b"\x01", sha256)[:length]
