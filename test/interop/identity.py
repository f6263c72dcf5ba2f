"""Makes, proves and opens identities: the keys for which documents are shared, and with which a user
signs."""

import os
from hashlib import sha3_256
from typing import Any, NamedTuple

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import strict_base64
from key_wrap import derive_key, unwrap_key, wrap_key
from vault_http import VaultError, VaultHttp

IDENTITY = "/v1/crypto/keys/sharing"
WRAP_LABEL = "Service_Sharing_Key_Wrap_v1"
SIGNING_WRAP_LABEL = "Service_Signing_Key_Wrap_v1"
FINGERPRINT_LABEL = b"Service_Identity_Fingerprint_v1\x00"
POSSESSION_LABEL = "Service_Identity_Possession_v1"
CHANGE_LABEL = "Service_Identity_Change_v1"


class PublicIdentity(NamedTuple):
    public_key: bytes
    signing_key: bytes

    @property
    def hash(self) -> bytes:
        return sha3_256(FINGERPRINT_LABEL + self.public_key + self.signing_key).digest()

    @property
    def fingerprint(self) -> str:
        return self.hash.hex()[:32]


class Identity(NamedTuple):
    private_key: bytes
    signing_seed: bytes

    @property
    def public(self) -> PublicIdentity:
        private = X25519PrivateKey.from_private_bytes(self.private_key)
        signer = Ed25519PrivateKey.from_private_bytes(self.signing_seed)
        return PublicIdentity(
            private.public_key().public_bytes_raw(), signer.public_key().public_bytes_raw()
        )

    def sign(self, label: str, message: bytes) -> bytes:
        signer = Ed25519PrivateKey.from_private_bytes(self.signing_seed)
        return signer.sign(labelled(label, message))


class Names(NamedTuple):
    """The vault and the user, as the vault names them."""

    issuer: str
    owner: str


def labelled(label: str, message: bytes) -> bytes:
    return label.encode() + b"\x00" + message


def is_signed(signing_key: bytes, label: str, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(signing_key).verify(signature, labelled(label, message))
    except (InvalidSignature, ValueError):
        return False
    return True


def read_names(http: VaultHttp) -> Names:
    account = http.get("/v1/auth/account")
    return Names(account["issuer"], account["userId"])


def publication_text(
    names: Names, identity: PublicIdentity, previous: PublicIdentity | None
) -> bytes:
    """Returns what an identity signs that becomes the one of an account."""
    return rfc8785.dumps(
        {
            "v": 1,
            "issuer": names.issuer,
            "owner": names.owner,
            **encode_keys(identity),
            "previous": None if previous is None else previous.fingerprint,
        }
    )


def encode_keys(identity: PublicIdentity) -> dict[str, str]:
    encode = strict_base64.encode
    return {
        "publicKey": encode(identity.public_key),
        "signingKey": encode(identity.signing_key),
    }


def decode_keys(keys: dict[str, Any]) -> PublicIdentity:
    decode = strict_base64.decode
    return PublicIdentity(decode(keys["publicKey"]), decode(keys["signingKey"]))


def sign_publication(names: Names, identity: Identity, previous: Identity | None) -> dict[str, str]:
    """Returns the signatures that are sent with an identity: by itself and by the one before."""
    text = publication_text(names, identity.public, None if previous is None else previous.public)
    signatures = {"proofOfPossession": strict_base64.encode(identity.sign(POSSESSION_LABEL, text))}
    if previous is not None:
        signatures["endorsement"] = strict_base64.encode(previous.sign(CHANGE_LABEL, text))
    return signatures


def create_identity() -> Identity:
    return Identity(os.urandom(32), os.urandom(32))


def wrap_identity(
    master_key: bytes, names: Names, identity: Identity, previous: Identity | None = None
) -> dict[str, str]:
    """Returns all that is sent to publish an identity."""
    sharing_key, signing_key = (
        derive_key(master_key, label) for label in (WRAP_LABEL, SIGNING_WRAP_LABEL)
    )
    return {
        **encode_keys(identity.public),
        "wrappedPrivateKey": strict_base64.encode(wrap_key(sharing_key, identity.private_key)),
        "wrappedSigningKey": strict_base64.encode(wrap_key(signing_key, identity.signing_seed)),
        **sign_publication(names, identity, previous),
    }


def unwrap_identity(master_key: bytes, stored: dict[str, Any]) -> Identity:
    """Opens an identity. Raises InvalidUnwrap for another master key, ValueError if the vault shows
    other public keys."""
    identity = Identity(
        unwrap_key(
            derive_key(master_key, WRAP_LABEL), strict_base64.decode(stored["wrappedPrivateKey"])
        ),
        unwrap_key(
            derive_key(master_key, SIGNING_WRAP_LABEL),
            strict_base64.decode(stored["wrappedSigningKey"]),
        ),
    )
    if identity.public != decode_keys(stored):
        raise ValueError("the vault shows other keys as the user's")
    return identity


def load_identity(http: VaultHttp, master_key: bytes) -> Identity:
    """Opens the user's identity, and makes the first one. Raises as `unwrap_identity` does."""
    try:
        return unwrap_identity(master_key, http.get(IDENTITY))
    except VaultError as error:
        if error.status != 404:
            raise
    identity = create_identity()
    try:
        http.put(IDENTITY, wrap_identity(master_key, read_names(http), identity))
    except VaultError as error:
        if error.status != 428:
            raise
        # Another client was first.
        return unwrap_identity(master_key, http.get(IDENTITY))
    return identity
