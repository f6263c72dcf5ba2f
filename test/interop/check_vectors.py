"""Checks every file of test/vectors against this client."""

import json
import unittest
from hashlib import sha1
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap

import authorship
import content
import hpke
import identity
import recovery_words
import rekey
import report
import sharing
import srp
import strict_base64
import sync_statement
from encrypted_file import create_header, decrypt_file, encrypt_file
from key_wrap import unwrap_master_key, wrap_key, wrap_master_key
from keywords import keyword_hash, normalize_keyword
from document_key import Version, file_key, unwrap_earlier_key, version_key
from metadata import Place, decrypt_metadata, encrypt_metadata
from passwords import AUTH_LABEL, argon2_salt, password_key
from sync_leaf import leaf_key, open_leaf, seal_leaf

DIRECTORY = Path(__file__).parent.parent / "vectors"


def load(name: str) -> Any:
    return json.loads((DIRECTORY / name).read_text("utf-8"))


def number(text: str) -> int:
    return int(text, 16)


def changed(data: bytes, offset: int) -> bytes:
    return data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :]


class Vectors(unittest.TestCase):
    checked = frozenset(
        {
            "aes-kw-rfc3394.json",
            "argon2.json",
            "authorship.json",
            "bip39.json",
            "content.json",
            "merkle-rfc6962.json",
            "rekey.json",
            "report.json",
            "sharing.json",
            "srp-rfc5054.json",
            "srp.json",
            "statements.json",
            "stream.json",
            "sync.json",
        }
    )
    # Only the vault hashes to a curve; no client does.
    left_to_the_vault = frozenset({"hash-to-curve-rfc9380.json"})

    def test_every_vector_file_is_checked(self) -> None:
        files = {path.name for path in DIRECTORY.glob("*.json")}
        self.assertEqual(files - self.left_to_the_vault, self.checked)

    def test_sharing(self) -> None:
        vector = load("sharing.json")["sharing"]
        decode = strict_base64.decode
        own = identity.unwrap_identity(bytes.fromhex(vector["masterKey"]), vector)
        self.assertEqual(own.private_key.hex(), vector["privateKey"])
        self.assertEqual(own.signing_seed.hex(), vector["signingSeed"])
        self.assertEqual(own.public, identity.decode_keys(vector))
        self.assertEqual(own.public.fingerprint, vector["fingerprint"])
        private_key, document_id = own.private_key, vector["documentId"]
        wrapped = decode(vector["wrappedKey"])
        message = sharing.share_message(document_id, 0, own.public.hash, wrapped)
        signature = decode(vector["signature"])
        label, signing_key = sharing.SIGNATURE_LABEL, own.public.signing_key
        self.assertEqual(own.sign(label, message), signature)
        self.assertTrue(identity.is_signed(signing_key, label, message, signature))
        self.assertFalse(identity.is_signed(signing_key, label, message + b"\x00", signature))
        opened = sharing.open_document_key(private_key, document_id, wrapped)
        self.assertEqual(opened.hex(), vector["documentKey"])
        with self.assertRaises(InvalidTag):
            sharing.open_document_key(private_key, document_id[::-1], wrapped)
        version, only = vector["version"], decode(vector["wrappedVersionKey"])
        key = sharing.open_version_key(private_key, document_id, version, only)
        self.assertEqual(key.hex(), vector["versionKey"])
        with self.assertRaises(InvalidTag):
            sharing.open_version_key(private_key, document_id, version + 1, only)
        message = sharing.share_message(document_id, version, own.public.hash, only)
        self.assertEqual(own.sign(label, message), decode(vector["versionSignature"]))
        again = hpke.seal(own.public.public_key, b"info", b"text")
        self.assertEqual(hpke.open_sealed(private_key, b"info", again), b"text")

    def test_words_of_the_list(self) -> None:
        for vector in load("bip39.json"):
            words = vector["words"]
            self.assertEqual(recovery_words.create_words(bytes.fromhex(vector["entropy"])), words)
            self.assertEqual(recovery_words.normalize_words(words), words)
            first, *rest = words.split(" ")
            for typed in ("able " + " ".join(rest), " ".join(rest), f"{first}x {' '.join(rest)}"):
                with self.assertRaises(ValueError):
                    recovery_words.normalize_words(typed)

    def test_recovery_words(self) -> None:
        vector = load("rekey.json")["recovery"]
        words = recovery_words.normalize_words(vector["typed"])
        self.assertEqual(words, vector["words"])
        salt = bytes.fromhex(vector["recoverySalt"])
        auth_key = password_key(words, salt, recovery_words.RECOVERY.auth_label)
        self.assertEqual(auth_key.hex(), vector["authKey"])
        x = srp.secret_exponent(srp.VAULT_GROUP, salt, auth_key)
        verifier = srp.VAULT_GROUP.pad(srp.verifier(srp.VAULT_GROUP, x))
        self.assertEqual(verifier.hex(), vector["recoveryVerifier"])
        recovery_key = password_key(words, salt, recovery_words.RECOVERY.envelope_label)
        self.assertEqual(recovery_key.hex(), vector["recoveryKey"])
        envelope = strict_base64.decode(vector["encryptedEnvelope"])
        opened = unwrap_master_key(recovery_key, envelope, 2)
        self.assertEqual(opened.hex(), load("rekey.json")["masterKey"])

    def test_rekey(self) -> None:
        vectors = load("rekey.json")
        earlier_key, master_key = (
            bytes.fromhex(vectors[name]) for name in ("earlierKey", "masterKey")
        )
        device, made = vectors["device"], vectors["rekey"]
        device_id, device_key = device["deviceId"], bytes.fromhex(device["deviceKey"])
        envelope = strict_base64.decode(device["encryptedEnvelope"])
        added = unwrap_master_key(device_key, envelope, rekey.generation_of(None))
        self.assertEqual(added, earlier_key)
        public_key = rekey.device_private_key(device_key).public_key().public_bytes_raw()
        self.assertEqual(strict_base64.encode(public_key), device["publicKey"])
        info = rekey.open_device_info(earlier_key, device_id, device["encryptedInfo"])
        self.assertEqual(info, device["info"])
        opened = rekey.open_device_envelope(
            device_key, device_id, made["deviceEnvelope"], made["keyring"]
        )
        self.assertEqual(opened, master_key)
        keyring = rekey.open_keyring(master_key, made["keyring"])
        earlier = identity.Identity(
            *(bytes.fromhex(made[name]) for name in ("earlierPrivateKey", "earlierSeed"))
        )
        self.assertEqual(keyring, ([earlier_key], [earlier], {device_id: public_key}, None))
        header = rekey.read_header(made["keyring"])
        list_end = rekey.ListEnd(device_id, 1, "00" * 32)
        listed = keyring._replace(list_end=list_end)
        again = rekey.seal_keyring(master_key, header, listed)
        self.assertEqual(rekey.open_keyring(master_key, again), listed)
        with self.assertRaises(InvalidTag):
            rekey.open_keyring(earlier_key, made["keyring"])
        with self.assertRaises(InvalidTag):
            rekey.open_device_info(earlier_key, device_id[::-1], device["encryptedInfo"])

    def test_sync_leaves(self) -> None:
        for vector in load("sync.json"):
            with self.subTest(vector["name"]):
                key, object_id = bytes.fromhex(vector["masterKey"]), vector["objectId"]
                pointer, value, sealed = vector["pointer"], vector["value"], vector["sealed"]
                nonce = bytes.fromhex(vector["nonce"])
                self.assertEqual(leaf_key(key, object_id).hex(), vector["leafKey"])
                self.assertEqual(seal_leaf(key, object_id, pointer, value, nonce), sealed)
                self.assertEqual(open_leaf(key, object_id, pointer, sealed), value)
                with self.assertRaises(InvalidTag):
                    open_leaf(key, object_id, pointer + "/", sealed)

    def test_statements(self) -> None:
        vector = load("statements.json")
        key, object_id = bytes.fromhex(vector["masterKey"]), vector["objectId"]
        for state in vector["states"]:
            with self.subTest(state["name"]):
                fault = sync_statement.find_fault(
                    key, object_id, state, lambda pointer: pointer in vector["publicFields"]
                )
                self.assertEqual(fault is None, state["believed"], fault)

    def test_reports(self) -> None:
        vector = load("report.json")
        key, seed = bytes.fromhex(vector["masterKey"]), bytes.fromhex(vector["signingSeed"])
        writer, place = vector["writer"], vector["number"]
        record, content = vector["record"], vector["report"]
        self.assertEqual(report.report_key(key).hex(), vector["key"])
        nonce = bytes.fromhex(vector["nonce"])
        sealed = report.seal_report(
            key, vector["generation"], seed, writer, place, content, nonce=nonce
        )
        self.assertEqual(sealed, record)
        self.assertEqual(report.hash_report(record), vector["hash"])
        signer = bytes.fromhex(vector["signingKey"])
        opened = report.open_report(key, signer, writer, place, record)
        self.assertEqual(opened, (report.REPORT, vector["generation"], content))
        with self.assertRaises(InvalidTag):
            report.open_report(key, signer, writer, place + 1, record)
        with self.assertRaises(InvalidSignature):
            report.open_report(key, bytes.fromhex(vector["key"]), writer, place, record)

    def test_aes_key_wrap(self) -> None:
        for vector in load("aes-kw-rfc3394.json"):
            with self.subTest(vector["section"]):
                wrapping_key = bytes.fromhex(vector["kek"])
                wrapped = wrap_key(wrapping_key, bytes.fromhex(vector["keyData"]))
                self.assertEqual(wrapped.hex(), vector["ciphertext"])

    def test_password_keys(self) -> None:
        for vector in load("argon2.json"):
            with self.subTest(vector["label"], password=vector["password"]):
                salt, label = bytes.fromhex(vector["salt"]), vector["label"]
                self.assertEqual(argon2_salt(label, salt).hex(), vector["argon2Salt"])
                self.assertEqual(password_key(vector["password"], salt, label).hex(), vector["key"])

    def test_srp_of_rfc_5054(self) -> None:
        vector = load("srp-rfc5054.json")
        group = srp.Group(number(vector["N"]), 2, lambda data: sha1(data).digest())
        x, a = number(vector["x"]), number(vector["a"])
        self.check_exchange(group, x, a, vector)
        self.assertEqual(srp.verifier(group, x), number(vector["v"]))

    def test_srp(self) -> None:
        for vector in load("srp.json"):
            with self.subTest(vector["password"], a=vector["a"]):
                group, a = srp.VAULT_GROUP, number(vector["a"])
                salt = bytes.fromhex(vector["salt"])
                auth_key = password_key(vector["password"], salt, AUTH_LABEL)
                self.assertEqual(auth_key.hex(), vector["authKey"])
                x = srp.secret_exponent(group, salt, auth_key)
                self.assertEqual(x, number(vector["x"]))
                verifier = srp.verifier(group, x)
                self.assertEqual(group.pad(verifier).hex(), vector["verifier"])
                fingerprint = srp.fingerprint(group, salt, verifier)
                self.assertEqual(fingerprint, vector["fingerprint"])
                secret = self.check_exchange(group, x, a, vector)
                self.check_proofs(group, secret, vector)

    def check_exchange(self, group: srp.Group, x: int, a: int, vector: dict[str, str]) -> int:
        A, B = srp.public_value(group, a), number(vector["B"])
        self.assertEqual(srp.multiplier(group), number(vector["k"]))
        self.assertEqual(group.pad(A).hex(), vector["A"])
        self.assertEqual(srp.scrambler(group, A, B), number(vector["u"]))
        secret = srp.shared_secret(group, x, a, B)
        self.assertEqual(group.pad(secret).hex(), vector["S"])
        for refused in (0, group.prime, B + group.prime):
            self.assertRaises(ValueError, srp.shared_secret, group, x, a, refused)
        return secret

    def check_proofs(self, group: srp.Group, secret: int, vector: dict[str, str]) -> None:
        key = srp.session_key(group, secret)
        self.assertEqual(key.hex(), vector["K"])
        proofs = srp.proofs(group, number(vector["A"]), number(vector["B"]), key)
        self.assertEqual(proofs.M1.hex(), vector["M1"])
        srp.verify_server(proofs, bytes.fromhex(vector["M2"]))
        wrong = changed(bytes.fromhex(vector["M2"]), 31)
        self.assertRaises(ValueError, srp.verify_server, proofs, wrong)


class StreamVectors(unittest.TestCase):
    """Checks stream.json, which holds what one user's keys encrypt."""

    vectors = load("stream.json")
    password_key = bytes.fromhex(vectors["passwordKey"])
    master_key = bytes.fromhex(vectors["masterKey"])
    document_key = bytes.fromhex(vectors["documentKey"])
    file_key = bytes.fromhex(vectors["fileKey"])

    def test_master_envelope(self) -> None:
        envelope = self.vectors["masterEnvelope"]
        sealed = wrap_master_key(self.password_key, self.master_key, 1)
        self.assertEqual(strict_base64.encode(sealed), envelope)
        self.assertEqual(unwrap_master_key(self.password_key, sealed, 1), self.master_key)
        for refused, generation in ((changed(sealed, 0), 1), (sealed, 2)):
            with self.assertRaises(InvalidUnwrap):
                unwrap_master_key(self.password_key, refused, generation)

    def test_files(self) -> None:
        for vector in self.vectors["files"]:
            with self.subTest(vector["name"]):
                plaintext = bytes.fromhex(vector["plaintext"])
                header = create_header(
                    self.file_key,
                    vector["segmentSize"],
                    bytes.fromhex(vector["salt"]),
                    bytes.fromhex(vector["noncePrefix"]),
                )
                encrypted = encrypt_file(self.file_key, header, plaintext)
                self.assertEqual(encrypted.hex(), vector["encrypted"])
                self.assertEqual(decrypt_file(self.file_key, encrypted), plaintext)
                self.check_changed_file(encrypted)

    def check_changed_file(self, encrypted: bytes) -> None:
        changes = [changed(encrypted, offset) for offset in range(len(encrypted))]
        cuts = [encrypted[:length] for length in range(len(encrypted))]
        for other in [*changes, *cuts, encrypted + b"\x00"]:
            with self.assertRaises((ValueError, InvalidTag)):
                decrypt_file(self.file_key, other)

    def test_metadata(self) -> None:
        vector = self.vectors["metadata"]
        nonce = bytes.fromhex(vector["nonce"])
        given = vector["place"]
        version = Version(given["documentId"], given["version"])
        previous = bytes.fromhex(given["previous"])
        place = Place(version, given["change"], previous, given["keyGeneration"])
        self.assertEqual(version_key(self.document_key, version).hex(), self.vectors["versionKey"])
        self.assertEqual(file_key(self.document_key, version), self.file_key)
        text = {**vector["metadata"], "earlierKey": vector["earlierKey"]}
        sealed = encrypt_metadata(self.master_key, self.document_key, place, text, nonce)
        self.assertEqual(sealed, vector["encryptedMetadata"])
        opened = decrypt_metadata(self.master_key, version.document_id, sealed)
        self.assertEqual(opened, (self.document_key, place, text))
        data = strict_base64.decode(sealed)
        self.assertEqual(data[61:101].hex(), vector["wrappedDocumentKey"])
        earlier = strict_base64.decode(vector["earlierKey"])
        earlier_key = unwrap_earlier_key(self.document_key, version.document_id, earlier)
        self.assertEqual(earlier_key.hex(), vector["earlierDocumentKey"])
        for offset in range(len(data)):
            other = strict_base64.encode(changed(data, offset))
            with self.assertRaises((ValueError, InvalidUnwrap, InvalidTag)):
                decrypt_metadata(self.master_key, version.document_id, other)

    def test_keyword(self) -> None:
        vector = self.vectors["keyword"]
        self.assertEqual(normalize_keyword(vector["keyword"]), vector["normalized"])
        self.assertEqual(keyword_hash(self.master_key, vector["keyword"]), vector["hash"])


class AuthorshipVectors(unittest.TestCase):
    """Checks authorship.json: identities that prove themselves, statements, and verdicts."""

    vectors = load("authorship.json")
    names = identity.Names(vectors["issuer"], vectors["owner"])
    identities = [
        identity.Identity(*(bytes.fromhex(one[name]) for name in ("privateKey", "signingSeed")))
        for one in vectors["identities"]
    ]
    changes = {name: json.loads(entry) for name, entry in vectors["changes"].items()}

    def test_identities(self) -> None:
        previous = None
        for own, vector in zip(self.identities, self.vectors["identities"], strict=True):
            self.assertEqual(own.public, identity.decode_keys(vector))
            self.assertEqual(own.public.fingerprint, vector["fingerprint"])
            before = None if previous is None else previous.public
            text = identity.publication_text(self.names, own.public, before)
            self.assertEqual(text.decode(), vector["text"])
            signatures = identity.sign_publication(self.names, own, previous)
            self.assertEqual(signatures["proofOfPossession"], vector["proofOfPossession"])
            self.assertEqual(signatures.get("endorsement"), vector["endorsement"])
            previous = own

    def test_statements(self) -> None:
        for vector in self.vectors["statements"]:
            with self.subTest(vector["name"]):
                given = json.loads(vector["statement"])
                version = authorship.StatedVersion(
                    given["documentId"],
                    given["version"],
                    given["fileHash"],
                    given["metadataHash"],
                    given["contentCommitment"],
                )
                more = {
                    name: value for name, value in given.items() if name not in authorship.MEMBERS
                }
                author, action, stated_at = self.identities[0], given["action"], given["statedAt"]
                made = authorship.state(author, self.names, version, action, more, stated_at)
                expected = {name: vector[name] for name in ("statement", "signature")}
                self.assertEqual(made, expected)

    def test_verdicts(self) -> None:
        for case in self.vectors["cases"]:
            with self.subTest(case["name"]):
                changes = [self.changes[name] for name in case["identityChanges"]]
                verdict = self.judge(case["entry"], case["expectedFingerprint"], changes)
                self.assertEqual(verdict, case["verdict"])

    def judge(self, entry: str, expected: str | None, changes: list[Any]) -> str:
        try:
            author = authorship.verify_author(json.loads(entry), expected, changes)
        except authorship.StatementError as error:
            return str(error)
        if author is None:
            return "vault_word"
        return "unknown_key" if expected is None else "known_key"


class MerkleVectors(unittest.TestCase):
    """Checks merkle-rfc6962.json, which is published."""

    vectors = load("merkle-rfc6962.json")
    leaves = [content.leaf_hash(b"", bytes.fromhex(leaf)) for leaf in vectors["leaves"]]

    def test_heads(self) -> None:
        for count, root in enumerate(self.vectors["roots"], start=1):
            self.assertEqual(content.tree_head(self.leaves[:count]).hex(), root)

    def test_paths(self) -> None:
        for vector in self.vectors["paths"]:
            index, count = vector["index"], vector["count"]
            path = content.audit_path(self.leaves[:count], index)
            self.assertEqual([node.hex() for node in path], vector["path"])
            head = content.head_of_path(self.leaves[index], index, count, path)
            self.assertEqual(head.hex(), self.vectors["roots"][count - 1])


class ContentVectors(unittest.TestCase):
    """Checks content.json: the commitments to six plaintexts, and openings of each."""

    vectors = load("content.json")

    def test_contents(self) -> None:
        for vector in self.vectors:
            with self.subTest(vector["name"]):
                plaintext = self.plaintext_of(vector)
                made = content.create_content(plaintext, bytes.fromhex(vector["seed"]))
                expected = {name: vector[name] for name in ("seed", "root", "sha256")}
                self.assertEqual(made, expected)
                commitment = content.content_commitment(made, vector["size"])
                self.assertEqual(commitment, vector["contentCommitment"])
                full = content.full_opening(made, vector["size"])
                self.assertEqual(full, vector["fullOpening"])
                indexes = [segment["index"] for segment in vector["segmentsOpening"]["segments"]]
                some = content.segments_opening(made, plaintext, indexes)
                self.assertEqual(some, vector["segmentsOpening"])

    def test_openings(self) -> None:
        for vector in self.vectors:
            with self.subTest(vector["name"]):
                plaintext, commitment = self.plaintext_of(vector), vector["contentCommitment"]
                openings = (vector["fullOpening"], vector["segmentsOpening"])
                for opening in openings:
                    proven = content.verify_opening(opening, commitment, plaintext)
                    self.assertEqual(proven.whole, "seed" in opening)
                    self.check_refused(opening, commitment, plaintext + b"\x00")
                    self.check_refused(opening, changed(commitment.encode(), 0).decode(), plaintext)
                    self.check_changed(opening, commitment, plaintext)
                if plaintext:
                    self.check_refused(openings[0], commitment, changed(plaintext, 0))

    def plaintext_of(self, vector: dict[str, Any]) -> bytes:
        return (bytes(range(251)) * (vector["size"] // 251 + 1))[: vector["size"]]

    def check_changed(self, opening: dict[str, Any], commitment: str, plaintext: bytes) -> None:
        for name in opening:
            self.check_refused({**opening, name: None}, commitment, plaintext)
            rest = {other: value for other, value in opening.items() if other != name}
            self.check_refused(rest, commitment, plaintext)
        self.check_refused({**opening, "more": 1}, commitment, plaintext)
        self.check_refused({**opening, "size": opening["size"] + 1}, commitment, plaintext)
        for segments in self.wrong_segments(opening.get("segments", [])):
            self.check_refused({**opening, "segments": segments}, commitment, plaintext)

    def wrong_segments(self, segments: list[dict[str, Any]]) -> list[Any]:
        if not segments:
            return []
        first = segments[0]
        return [
            [],
            [first, first],
            [{**first, "index": first["index"] + 1}],
            [{**first, "salt": "00" * 32}],
            [{**first, "path": [*first["path"], "00" * 32]}],
            *([[{**first, "path": first["path"][1:]}]] if first["path"] else []),
            *([segments[::-1]] if len(segments) > 1 else []),
        ]

    def check_refused(self, opening: Any, commitment: str, original: bytes) -> None:
        with self.assertRaises(ValueError):
            content.verify_opening(opening, commitment, original)


if __name__ == "__main__":
    unittest.main()
