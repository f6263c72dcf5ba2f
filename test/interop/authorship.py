"""States what a user does, and verifies without the vault who stated what an entry records."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import rfc8785

import strict_base64
from identity import CHANGE_LABEL, Identity, Names, PublicIdentity, decode_keys, is_signed
from identity import publication_text

LABEL = "Service_Author_Statement_v1"
TOLERANCE = timedelta(minutes=10)
SIGNATURE_BYTES, KEY_BYTES = 64, 32
INSTANT = (
    "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    "T([01][0-9]|2[0-3])(:[0-5][0-9]){2}[.][0-9]{3}Z"
)
UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
HASH = "[0-9a-f]{64}"
FORMS = {
    "owner": UUID,
    "documentId": UUID,
    "fileHash": HASH,
    "metadataHash": HASH,
    "contentCommitment": HASH,
    "statedAt": INSTANT,
    "recipientFingerprint": "[0-9a-f]{32}",
    "shareId": UUID,
}

MEMBERS = {
    "v",
    "issuer",
    "owner",
    "action",
    "documentId",
    "version",
    "fileHash",
    "metadataHash",
    "contentCommitment",
    "publicKey",
    "statedAt",
}
MORE_MEMBERS: dict[str, set[str]] = {
    "document.sealed": set(),
    "document.deleted": set(),
    "document.shared": {"recipientFingerprint", "sharedVersion"},
    "document.unshared": {"shareId"},
}


class StatedVersion(NamedTuple):
    document_id: str
    version: int
    file_hash: str
    metadata_hash: str
    content_commitment: str | None


class StatementError(Exception):
    """What an entry shows as the author's statement does not hold. The message is the reason."""


def state(
    author: Identity,
    names: Names,
    version: StatedVersion,
    action: str,
    more: dict[str, Any] | None = None,
    stated_at: str | None = None,
) -> dict[str, str]:
    """States an act, as the vault takes it. Only test vectors pass a time."""
    text = rfc8785.dumps(
        {
            "v": 1,
            "issuer": names.issuer,
            "owner": names.owner,
            "action": action,
            "documentId": version.document_id,
            "version": version.version,
            "fileHash": version.file_hash,
            "metadataHash": version.metadata_hash,
            "contentCommitment": version.content_commitment,
            "publicKey": strict_base64.encode(author.public.signing_key),
            "statedAt": present() if stated_at is None else stated_at,
            **(more or {}),
        }
    )
    signature = author.sign(LABEL, text)
    return {"statement": text.decode(), "signature": strict_base64.encode(signature)}


def present() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def verify_author(
    entry: dict[str, Any], expected: str | None = None, changes: Iterable[dict[str, Any]] = ()
) -> PublicIdentity | None:
    """Returns the identity that stated what an entry records; None if the actor is the vault's word.
    Without an expected fingerprint, whose identity it is remains the vault's word. `changes` are
    entries of changes of the identity. Raises StatementError."""
    if "author" not in entry["data"]:
        return None
    statement, signature, identity = parse_author(entry["data"]["author"])
    texts = (statement["statedAt"], entry["timestamp"])
    stated_at, timestamp = (parse_instant(text) for text in texts)
    check_place(entry, statement)
    check_act(entry, statement)
    if abs(stated_at - timestamp) > TOLERANCE:
        raise StatementError("statement_misdated")
    if not is_signed(identity.signing_key, LABEL, rfc8785.dumps(statement), signature):
        raise StatementError("statement_forged")
    if expected is not None and identity.fingerprint not in follow(expected, changes):
        raise StatementError("other_author")
    return identity


def parse_instant(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise StatementError("statement_malformed") from error


def parse_author(author: Any) -> tuple[dict[str, Any], bytes, PublicIdentity]:
    try:
        if set(author) != {"statement", "signature", "sharingKey"}:
            raise ValueError("other members than an author has")
        statement = author["statement"]
        check_form(statement)
        signature, *keys = (
            strict_base64.decode(text)
            for text in (author["signature"], author["sharingKey"], statement["publicKey"])
        )
        if [len(signature), *map(len, keys)] != [SIGNATURE_BYTES, KEY_BYTES, KEY_BYTES]:
            raise ValueError("a signature or key of another length")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StatementError("statement_malformed") from error
    return statement, signature, PublicIdentity(*keys)


def check_form(statement: dict[str, Any]) -> None:
    """Raises TypeError, KeyError or ValueError unless a statement has the form of its action."""
    if set(statement) != MEMBERS | MORE_MEMBERS[statement["action"]]:
        raise ValueError("other members than a statement of this action has")
    for name in ("v", "version"):
        if not is_count(statement[name]):
            raise ValueError(f"{name} is no whole number from 1")
    if statement["v"] != 1:
        raise ValueError("unknown version of a statement")
    if statement.get("sharedVersion") is not None and not is_count(statement["sharedVersion"]):
        raise ValueError("sharedVersion is no version")
    # Raises for a text that has no UTF-8 form.
    statement["issuer"].encode()
    for name, form in FORMS.items():
        is_null = name == "contentCommitment" and statement[name] is None
        if name in statement and not is_null and not re.fullmatch(form, statement[name]):
            raise ValueError(f"{name} is malformed")


def is_count(value: Any) -> bool:
    return type(value) is int and value > 0


def check_place(entry: dict[str, Any], statement: dict[str, Any]) -> None:
    resource, actor = entry["resource"], entry["actor"]
    here = (entry["issuer"], resource["owner"], actor["id"], resource["id"])
    owner = statement["owner"]
    if (
        (statement["issuer"], owner, owner, statement["documentId"]) != here
        or actor["type"] != "user"
        or resource["type"] != "document"
    ):
        raise StatementError("statement_elsewhere")


def check_act(entry: dict[str, Any], statement: dict[str, Any]) -> None:
    """Raises StatementError unless a statement is of the act that the entry records."""
    names = {
        "document.sealed": ("version", "fileHash", "metadataHash", "contentCommitment"),
        "document.deleted": ("fileHash",),
        "document.shared": ("recipientFingerprint", "sharedVersion"),
        "document.unshared": ("shareId",),
    }[statement["action"]]
    data = dict(entry["data"])
    if statement["action"] == "document.shared":
        data["sharedVersion"] = data.get("version")
    is_same = all(statement[name] == data.get(name) for name in names)
    if statement["action"] != entry["action"] or not is_same:
        raise StatementError("statement_mismatch")


def follow(fingerprint: str, changes: Iterable[dict[str, Any]]) -> set[str]:
    """Returns a fingerprint and those of all identities that follow it."""
    entries = [entry for entry in changes if entry["action"] == "sharing_key.changed"]
    identities = [decode_keys(entry["data"]) for entry in entries]
    known = {identity.fingerprint: identity for identity in identities}
    reached, waiting = {fingerprint}, [fingerprint]
    while waiting:
        before = waiting.pop()
        for entry, identity in zip(entries, identities, strict=True):
            follows = entry["data"]["previousFingerprint"] == before and before in known
            if not follows or identity.fingerprint in reached:
                continue
            if is_endorsed(entry, identity, known[before]):
                reached.add(identity.fingerprint)
                waiting.append(identity.fingerprint)
    return reached


def is_endorsed(entry: dict[str, Any], identity: PublicIdentity, before: PublicIdentity) -> bool:
    endorsement = entry["data"]["endorsement"]
    if endorsement is None:
        return False
    text = publication_text(Names(entry["issuer"], entry["resource"]["owner"]), identity, before)
    return is_signed(before.signing_key, CHANGE_LABEL, text, strict_base64.decode(endorsement))
