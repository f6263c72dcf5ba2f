"""Checks the proof printed in docs/formats.md: unchanged, changed, and signed again with a key of
the test. Also checks the proofs of test/vectors/proofs."""

import json
import re
import unittest
from hashlib import sha3_256, sha256
from pathlib import Path
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.hashes import SHA3_256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import strict_base64
from audit_proof import AuditProof, verify_proof

FORMATS = Path(__file__).parents[2] / "docs" / "formats.md"
CORPUS = Path(__file__).parents[1] / "vectors" / "proofs"
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def printed_proof() -> AuditProof:
    block = re.search(r"```json\n(.*?)```", FORMATS.read_text("utf-8"), re.DOTALL)
    assert block is not None
    proof: AuditProof = json.loads(block.group(1))
    return proof


def prove(canonical: bytes, proof_id: str, curve: ec.EllipticCurve, high_s: bool) -> AuditProof:
    key = ec.generate_private_key(curve)
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    signature = key.sign(canonical, ec.ECDSA(SHA3_256()))
    if isinstance(curve, ec.SECP256R1):
        r, s = decode_dss_signature(signature)
        low = min(s, P256_ORDER - s)
        signature = encode_dss_signature(r, P256_ORDER - low if high_s else low)
    return AuditProof(
        id=proof_id,
        entryCanonical=canonical.decode(),
        entryHash=sha3_256(canonical).hexdigest(),
        hsmSignature=strict_base64.encode(signature),
        hsmKeyId=sha256(der).hexdigest()[:32],
        publicKey=strict_base64.encode(der),
    )


class PrintedProof(unittest.TestCase):
    proof = printed_proof()
    canonical = proof["entryCanonical"].encode()
    entry = json.loads(canonical)

    def check_refused(self, proof: AuditProof, trusted: str | None = None) -> None:
        with self.assertRaises((ValueError, InvalidSignature)):
            verify_proof(proof, proof["hsmKeyId"] if trusted is None else trusted)

    def test_the_unchanged_proof_is_valid(self) -> None:
        self.assertEqual(verify_proof(self.proof, self.proof["hsmKeyId"]), self.entry)

    def test_an_untrusted_key_is_refused(self) -> None:
        self.check_refused(self.proof, "00" * 16)

    def test_a_changed_entry_is_refused(self) -> None:
        changed = self.proof["entryCanonical"].replace('"size":128', '"size":129')
        rehashed = sha3_256(changed.encode()).hexdigest()
        self.check_refused({**self.proof, "entryCanonical": changed})
        self.check_refused({**self.proof, "entryCanonical": changed, "entryHash": rehashed})

    def test_signatures_with_low_and_high_s_are_valid(self) -> None:
        for high_s in (False, True):
            proof = prove(self.canonical, self.proof["id"], ec.SECP256R1(), high_s)
            self.assertEqual(verify_proof(proof, proof["hsmKeyId"]), self.entry)

    def test_another_id_curve_or_form_is_refused(self) -> None:
        other_form = json.dumps(self.entry, sort_keys=True).encode()
        self.assertNotEqual(other_form, rfc8785.dumps(self.entry))
        proof_id = self.proof["id"]
        self.check_refused(prove(other_form, proof_id, ec.SECP256R1(), False))
        self.check_refused(prove(self.canonical, proof_id, ec.SECP256K1(), False))
        self.check_refused(prove(self.canonical, "00" + proof_id[2:], ec.SECP256R1(), False))


class Corpus(unittest.TestCase):
    keys = json.loads((CORPUS / "keys.json").read_text())["audit"]
    trusted = [key["keyId"] for key in keys]

    # This proof is valid, but nested deeper than Python can read. Entries of a vault are never so.
    too_deep = "size-nested-arrays"

    def test_every_verdict(self) -> None:
        for case in json.loads((CORPUS / "cases.json").read_text("utf-8")):
            with self.subTest(case["name"]):
                expected = "reason" not in case and case["name"] != self.too_deep
                self.assertEqual(self.is_valid(proof_bytes(case)), expected)

    def is_valid(self, file: bytes) -> bool:
        return any(self.verifies(file, key_id) for key_id in self.trusted)

    def verifies(self, file: bytes, key_id: str) -> bool:
        try:
            verify_proof(json.loads(file.decode()), key_id, self.keys)
        except (ValueError, InvalidSignature, RecursionError):
            return False
        return True


def proof_bytes(case: dict[str, Any]) -> bytes:
    def expand(text: Any) -> Any:
        for repeat in case.get("repeats", []) if isinstance(text, str) else []:
            text = text.replace(repeat["mark"], repeat["text"] * repeat["times"])
        return text

    if "bytes" in case:
        return strict_base64.decode(case["bytes"])
    if "text" in case:
        return expand(case["text"]).encode()
    proof = case["proof"]
    if isinstance(proof, dict):
        proof = {name: expand(value) for name, value in proof.items()}
    return json.dumps(proof).encode()


if __name__ == "__main__":
    unittest.main()
