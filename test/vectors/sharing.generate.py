"""Makes sharing.json from docs/formats.md, RFC 9180 and RFC 9380 alone, with the package `cryptography`
and nothing of the TypeScript sources. Checks itself first: HPKE against that package's own, hashing to
the curve against the vectors of RFC 9380. Run: python3 sharing.generate.py"""

import hmac
import json
from base64 import b64encode
from hashlib import sha256, sha3_256, sha512
from pathlib import Path
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

DIRECTORY = Path(__file__).parent
MASTER_KEY = sha256(b"master key").digest()
DOCUMENT_KEY = sha256(b"document key").digest()
RECIPIENT_KEY = sha256(b"private key of the recipient").digest()
SIGNING_SEED = sha256(b"private signing key").digest()
EPHEMERAL_KEY = sha256(b"ephemeral private key").digest()
VERSION = 2
DOCUMENT_ID = "01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35"

KEM_ID = b"KEM" + bytes.fromhex("0020")
HPKE_ID = b"HPKE" + bytes.fromhex("0020" "0001" "0002")


def derive(key: bytes, label: str, salt: bytes = b"") -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=label.encode()).derive(key)


def labeled_extract(suite: bytes, salt: bytes, label: bytes, ikm: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + ikm, sha256)


def labeled_expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    labeled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return HKDFExpand(algorithm=SHA256(), length=length, info=labeled).derive(prk)


def hpke_seal(public_key: bytes, ephemeral: bytes, info: bytes, text: bytes) -> bytes:
    private = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = private.public_key().public_bytes_raw()
    secret = private.exchange(X25519PublicKey.from_public_bytes(public_key))
    prk = labeled_extract(KEM_ID, b"", b"eae_prk", secret)
    shared = labeled_expand(KEM_ID, prk, b"shared_secret", enc + public_key, 32)
    context = b"\x00" + b"".join(
        labeled_extract(HPKE_ID, b"", label, value)
        for label, value in ((b"psk_id_hash", b""), (b"info_hash", info))
    )
    secret = labeled_extract(HPKE_ID, shared, b"secret", b"")
    key = labeled_expand(HPKE_ID, secret, b"key", context, 32)
    nonce = labeled_expand(HPKE_ID, secret, b"base_nonce", context, 12)
    return enc + AESGCM(key).encrypt(nonce, text, b"")


def sharing_vector() -> dict:
    private = X25519PrivateKey.from_private_bytes(RECIPIENT_KEY)
    public_key = private.public_key().public_bytes_raw()
    info = b"Service_Document_Share_v1" + DOCUMENT_ID.encode()
    wrapped = hpke_seal(public_key, EPHEMERAL_KEY, info, DOCUMENT_KEY)
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
    assert suite.decrypt(wrapped, private, info) == DOCUMENT_KEY
    wrapping_key = derive(MASTER_KEY, "Service_Sharing_Key_Wrap_v1")
    signer = Ed25519PrivateKey.from_private_bytes(SIGNING_SEED)
    signing_key = signer.public_key().public_bytes_raw()
    signing_wrap = derive(MASTER_KEY, "Service_Signing_Key_Wrap_v1")
    label = b"Service_Identity_Fingerprint_v1\x00"
    recipient = sha3_256(label + public_key + signing_key).digest()
    whole, only = (DOCUMENT_ID.encode() + n.to_bytes(4, "big") for n in (0, VERSION))
    statement = b"Service_Share_Signature_v1\x00" + whole + recipient + wrapped
    version_key = derive(DOCUMENT_KEY, "Service_Version_Key_v1", only)
    version_info = b"Service_Version_Share_v1" + only
    wrapped_version = hpke_seal(public_key, EPHEMERAL_KEY, version_info, version_key)
    assert suite.decrypt(wrapped_version, private, version_info) == version_key
    version_statement = b"Service_Share_Signature_v1\x00" + only + recipient + wrapped_version
    return {
        "masterKey": MASTER_KEY.hex(),
        "privateKey": RECIPIENT_KEY.hex(),
        "publicKey": b64encode(public_key).decode(),
        "wrappedPrivateKey": b64encode(aes_key_wrap(wrapping_key, RECIPIENT_KEY)).decode(),
        "signingSeed": SIGNING_SEED.hex(),
        "signingKey": b64encode(signing_key).decode(),
        "wrappedSigningKey": b64encode(aes_key_wrap(signing_wrap, SIGNING_SEED)).decode(),
        "fingerprint": recipient.hex()[:32],
        "documentId": DOCUMENT_ID,
        "documentKey": DOCUMENT_KEY.hex(),
        "wrappedKey": b64encode(wrapped).decode(),
        "signature": b64encode(signer.sign(statement)).decode(),
        "version": VERSION,
        "versionKey": version_key.hex(),
        "wrappedVersionKey": b64encode(wrapped_version).decode(),
        "versionSignature": b64encode(signer.sign(version_statement)).decode(),
    }


P, J = 2**255 - 19, 486662


def expand_message_xmd(message: bytes, dst: bytes, length: int) -> bytes:
    suffix = dst + bytes([len(dst)])
    b0 = sha512(bytes(128) + message + length.to_bytes(2, "big") + b"\x00" + suffix).digest()
    blocks = [sha512(b0 + b"\x01" + suffix).digest()]
    while len(blocks) * 64 < length:
        mixed = bytes(a ^ b for a, b in zip(b0, blocks[-1]))
        blocks.append(sha512(mixed + bytes([len(blocks) + 1]) + suffix).digest())
    return b"".join(blocks)[:length]


def square_root(n: int) -> int | None:
    root = pow(n, (P + 3) // 8, P)
    for candidate in (root, root * pow(2, (P - 1) // 4, P) % P):
        if candidate * candidate % P == n:
            return candidate
    return None


def elligator2(u: int) -> tuple[int, int]:
    """RFC 9380, section 6.7.1, as it is written there; the denominator is never zero."""
    x = -J * pow(1 + 2 * u * u, -1, P) % P
    y, odd = square_root((x**3 + J * x * x + x) % P), 1
    if y is None:
        x = (-x - J) % P
        y, odd = square_root((x**3 + J * x * x + x) % P), 0
    assert y is not None
    return x, y if y % 2 == odd else P - y


def add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """On v² = u³ + Ju² + u; no vector meets the point at infinity."""
    (x1, y1), (x2, y2) = a, b
    if a == b:
        slope = (3 * x1 * x1 + 2 * J * x1 + 1) * pow(2 * y1, -1, P) % P
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, P) % P
    x = (slope * slope - J - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def hash_to_curve25519(message: bytes, dst: bytes) -> tuple[int, int]:
    uniform = expand_message_xmd(message, dst, 96)
    point = add(*(elligator2(int.from_bytes(uniform[i : i + 48], "big") % P) for i in (0, 48)))
    for _ in range(3):
        point = add(point, point)
    return point


def hash_to_edwards25519(message: bytes, dst: bytes) -> bytes:
    """RFC 9380, appendix D.1: the rational map of RFC 7748, with the even root of -486664."""
    u, v = hash_to_curve25519(message, dst)
    root = square_root(-(J + 2) % P)
    assert root is not None
    factor = root if root % 2 == 0 else P - root
    x = factor * u * pow(v, -1, P) % P
    y = (u - 1) * pow(u + 1, -1, P) % P
    return (y | (x % 2) << 255).to_bytes(32, "little")


def keyed(key: bytes, purpose: str, *parts: str) -> bytes:
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False)
    return hmac.digest(derive(key, purpose), text.encode(), sha256)


def decoy_vector() -> dict:
    rfc = json.loads((DIRECTORY / "hash-to-curve-rfc9380.json").read_text())
    for vector in rfc["vectors"]:
        x, _ = hash_to_curve25519(vector["msg"].encode(), rfc["dst"].encode())
        assert x == int(vector["x"], 16)
    key, tenant, email = sha256(b"decoy key").digest(), "default", "jörg@example.com"
    sharer = "01890a5d-9a01-7d3e-8f21-5c6a3f0b7e11"
    dst = b"Probatio-V01-CS01-with-curve25519_XMD:SHA-512_ELL2_RO_"
    x, _ = hash_to_curve25519(keyed(key, "sharing-decoy-v1", tenant, email), dst)
    signing_dst = b"Probatio-V01-CS01-with-edwards25519_XMD:SHA-512_ELL2_RO_"
    signing_key = hash_to_edwards25519(keyed(key, "signing-decoy-v1", tenant, email), signing_dst)
    name = bytearray(keyed(key, "sharing-recipient-v1", sharer, email)[:16])
    name[6], name[8] = name[6] & 0x0F | 0x80, name[8] & 0x3F | 0x80
    return {
        "key": key.hex(),
        "tenantId": tenant,
        "email": email,
        "publicKey": b64encode(x.to_bytes(32, "little")).decode(),
        "signingKey": b64encode(signing_key).decode(),
        "sharerId": sharer,
        "recipientId": str(UUID(bytes=bytes(name))),
    }


vectors = {"sharing": sharing_vector(), "decoy": decoy_vector()}
text = json.dumps(vectors, indent=2, ensure_ascii=False) + "\n"
(DIRECTORY / "sharing.json").write_text(text)
