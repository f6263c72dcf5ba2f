"""Verifies audit proofs without the vault."""

import hmac
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha3_256, sha256
from typing import Any, TypedDict

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA3_256
from cryptography.hazmat.primitives.serialization import load_der_public_key

import strict_base64

PUBLIC_KEY_BYTES = 91
MAX_ENTRY_BYTES = 65_536
MAX_SIGNATURE_BYTES = 80
# Clocks of two signers may differ by this much.
TOLERANCE = timedelta(seconds=60)
SEALED_AT = (
    "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    "T([01][0-9]|2[0-3])(:[0-5][0-9]){2}[.][0-9]{3}Z"
)
FORMS = {
    "id": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "entryHash": "[0-9a-f]{64}",
    "hsmKeyId": "[0-9a-f]{32}",
}


class AuditProof(TypedDict):
    id: str
    entryCanonical: str
    entryHash: str
    hsmSignature: str
    hsmKeyId: str
    publicKey: str


class KeyFacts(TypedDict):
    """Members of a key in the list of GET /v1/audit/keys."""

    keyId: str
    state: str
    activatedAt: str | None
    retiredAt: str | None


def verify_proof(
    proof: Any, trusted_key_id: str, keys: Sequence[KeyFacts] = ()
) -> dict[str, Any]:
    """Returns the entry. Raises ValueError or InvalidSignature unless every check passes. With the
    vault's list of keys, the key must have been active and must not be compromised."""
    fields = parse_proof(proof)
    canonical = fields["entryCanonical"].encode()
    entry = parse_entry(canonical, fields["id"])
    if not hmac.compare_digest(sha3_256(canonical).hexdigest(), fields["entryHash"]):
        raise ValueError("the hash differs from the entry's")
    key = load_trusted_key(fields, trusted_key_id)
    signature = strict_base64.decode(fields["hsmSignature"])
    if len(signature) > MAX_SIGNATURE_BYTES:
        raise ValueError("the signature is too long")
    key.verify(signature, canonical, ECDSA(SHA3_256()))
    for facts in keys:
        if facts["keyId"] == trusted_key_id:
            check_validity(facts, entry["sealedAt"])
    return entry


def check_validity(key: KeyFacts, sealed_at: str) -> None:
    if key["state"] == "COMPROMISED":
        raise ValueError("somebody else may have the key")
    # Instants of this form are in the order of their texts.
    if key["activatedAt"] is None or sealed_at < shifted(key["activatedAt"], -TOLERANCE):
        raise ValueError("the key was not active yet")
    if key["retiredAt"] is not None and sealed_at > shifted(key["retiredAt"], TOLERANCE):
        raise ValueError("the key was retired already")


def shifted(instant: str, by: timedelta) -> str:
    moved = datetime.fromisoformat(instant) + by
    return moved.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_proof(proof: Any) -> AuditProof:
    if not isinstance(proof, dict) or set(proof) != set(AuditProof.__annotations__):
        raise ValueError("the proof has other members than a proof must have")
    if not all(isinstance(value, str) for value in proof.values()):
        raise ValueError("a member of the proof is not a string")
    for name, form in FORMS.items():
        if not re.fullmatch(form, proof[name]):
            raise ValueError(f"{name} is malformed")
    if len(proof["entryCanonical"].encode()) > MAX_ENTRY_BYTES:
        raise ValueError("the entry is too long")
    return AuditProof(**proof)


def load_trusted_key(proof: AuditProof, trusted_key_id: str) -> EllipticCurvePublicKey:
    der = strict_base64.decode(proof["publicKey"])
    key_id = sha256(der).hexdigest()[:32]
    if key_id != proof["hsmKeyId"] or key_id != trusted_key_id:
        raise ValueError("the key is not the trusted one")
    key = load_der_public_key(der)
    if len(der) != PUBLIC_KEY_BYTES or not isinstance(key, EllipticCurvePublicKey):
        raise ValueError("not an uncompressed P-256 key")
    if not isinstance(key.curve, SECP256R1):
        raise ValueError("not a P-256 key")
    return key


def parse_entry(canonical: bytes, proof_id: str) -> dict[str, Any]:
    try:
        # RFC 8785 treats all numbers as doubles, so a large integer becomes the nearest double.
        if rfc8785.dumps(json.loads(canonical, parse_int=float)) != canonical:
            raise ValueError("the entry is not in canonical form")
        entry = json.loads(canonical)
    except RecursionError as error:
        raise ValueError("the entry is nested too deeply for Python") from error
    if not isinstance(entry, dict) or type(entry.get("v")) is not int or entry["v"] != 2:
        raise ValueError("not an audit entry of version 2")
    if not re.fullmatch(SEALED_AT, str(entry.get("sealedAt"))):
        raise ValueError("the entry does not say when it was signed")
    if entry.get("id") != proof_id:
        raise ValueError("the entry has another id than the proof")
    return entry
