"""Verifies audit proofs without the vault."""

import hmac
import json
import re
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


def verify_proof(proof: Any, trusted_key_id: str) -> dict[str, Any]:
    """Returns the entry. Raises ValueError or InvalidSignature unless every check passes."""
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
    return entry


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
    if not isinstance(entry, dict) or type(entry.get("v")) is not int or entry["v"] != 1:
        raise ValueError("not an audit entry of version 1")
    if entry.get("id") != proof_id:
        raise ValueError("the entry has another id than the proof")
    return entry
