"""Verifies audit proofs without the vault."""

import hmac
import json
from hashlib import sha3_256, sha256
from typing import Any, TypedDict

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA3_256
from cryptography.hazmat.primitives.serialization import load_der_public_key

import strict_base64

PUBLIC_KEY_BYTES = 91


class AuditProof(TypedDict):
    id: str
    entryCanonical: str
    entryHash: str
    hsmSignature: str
    hsmKeyId: str
    publicKey: str


def verify_proof(proof: AuditProof, trusted_key_id: str) -> dict[str, Any]:
    """The entry. Raises ValueError or InvalidSignature unless every check passes."""
    canonical = proof["entryCanonical"].encode()
    if not hmac.compare_digest(sha3_256(canonical).hexdigest(), proof["entryHash"]):
        raise ValueError("the hash is not the entry's")
    key = load_trusted_key(proof, trusted_key_id)
    key.verify(strict_base64.decode(proof["hsmSignature"]), canonical, ECDSA(SHA3_256()))
    return parse_entry(canonical, proof["id"])


def load_trusted_key(proof: AuditProof, trusted_key_id: str) -> EllipticCurvePublicKey:
    der = strict_base64.decode(proof["publicKey"])
    key_id = sha256(der).hexdigest()[:32]
    if key_id != proof["hsmKeyId"] or key_id != trusted_key_id:
        raise ValueError("the key is not the trusted one")
    key = load_der_public_key(der)
    if len(der) != PUBLIC_KEY_BYTES or not isinstance(key, EllipticCurvePublicKey):
        raise ValueError("not an uncompressed key of P-256")
    if not isinstance(key.curve, SECP256R1):
        raise ValueError("not a key of P-256")
    return key


def parse_entry(canonical: bytes, proof_id: str) -> dict[str, Any]:
    entry = json.loads(canonical)
    if not isinstance(entry, dict) or rfc8785.dumps(entry) != canonical:
        raise ValueError("the entry is not in canonical form")
    if entry.get("id") != proof_id:
        raise ValueError("the entry is another one")
    return entry
