"""Opens documents that others share, HPKE (RFC 9180) in base mode, and verifies who signed the share."""

import hmac
from hashlib import sha3_256, sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from key_wrap import unwrap_key, derive_key

WRAP_LABEL = "Service_Sharing_Key_Wrap_v1"
SIGNING_WRAP_LABEL = "Service_Signing_Key_Wrap_v1"
SHARE_LABEL = b"Service_Document_Share_v1"
VERSION_LABEL = b"Service_Version_Share_v1"
SIGNATURE_LABEL = b"Service_Share_Signature_v1\x00"
FINGERPRINT_LABEL = b"Service_Identity_Fingerprint_v1\x00"
ENC_BYTES = 32
KEM_SUITE = b"KEM" + (0x0020).to_bytes(2, "big")
SUITE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x0020, 0x0001, 0x0002))


def identity_hash(public_key: bytes, signing_key: bytes) -> bytes:
    return sha3_256(FINGERPRINT_LABEL + public_key + signing_key).digest()


def fingerprint(public_key: bytes, signing_key: bytes) -> str:
    return identity_hash(public_key, signing_key).hex()[:32]


def open_private_key(master_key: bytes, wrapped: bytes) -> bytes:
    return unwrap_key(derive_key(master_key, WRAP_LABEL), wrapped)


def open_signing_seed(master_key: bytes, wrapped: bytes) -> bytes:
    return unwrap_key(derive_key(master_key, SIGNING_WRAP_LABEL), wrapped)


def signing_key_of(seed: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def encode_version(document_id: str, version: int) -> bytes:
    return document_id.encode() + version.to_bytes(4, "big")


def share_message(document_id: str, version: int, recipient: bytes, wrapped_key: bytes) -> bytes:
    """Returns what a sharer signs. recipient: the hash of the recipient's identity. version: 0 for all."""
    return SIGNATURE_LABEL + encode_version(document_id, version) + recipient + wrapped_key


def sign_share(seed: bytes, message: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def is_signed(signing_key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(signing_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def public_key_of(private_key: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()


def open_document_key(private_key: bytes, document_id: str, wrapped_key: bytes) -> bytes:
    """Opens a document key. Raises InvalidTag for another recipient or document."""
    return open_sealed(private_key, SHARE_LABEL + document_id.encode(), wrapped_key)


def open_version_key(private_key: bytes, document_id: str, version: int, wrapped_key: bytes) -> bytes:
    """Opens the key of one version. Raises InvalidTag for another recipient, document or version."""
    return open_sealed(private_key, VERSION_LABEL + encode_version(document_id, version), wrapped_key)


def open_sealed(private_key: bytes, info: bytes, wrapped_key: bytes) -> bytes:
    enc, ciphertext = wrapped_key[:ENC_BYTES], wrapped_key[ENC_BYTES:]
    sender = X25519PublicKey.from_public_bytes(enc)
    secret = X25519PrivateKey.from_private_bytes(private_key).exchange(sender)
    context = enc + public_key_of(private_key)
    prk = labeled_extract(KEM_SUITE, b"", b"eae_prk", secret)
    shared_secret = labeled_expand(KEM_SUITE, prk, b"shared_secret", context, 32)
    schedule = (
        b"\0"
        + labeled_extract(SUITE, b"", b"psk_id_hash", b"")
        + labeled_extract(SUITE, b"", b"info_hash", info)
    )
    key_prk = labeled_extract(SUITE, shared_secret, b"secret", b"")
    key = labeled_expand(SUITE, key_prk, b"key", schedule, 32)
    nonce = labeled_expand(SUITE, key_prk, b"base_nonce", schedule, 12)
    return AESGCM(key).decrypt(nonce, ciphertext, b"")


def labeled_extract(suite: bytes, salt: bytes, label: bytes, ikm: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, sha256)


def labeled_expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """Expands a secret. One block is enough, since no output here is longer than 32 bytes."""
    labeled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(prk, labeled + b"\x01", sha256)[:length]
