"""Commands for shares."""

from typing import Any

from identity import load_identity
from memory import write_report
from session import normalize_email
from sharing import (
    Terms,
    download_share,
    end_share,
    find_recipient,
    receive,
    renew_shares,
    share,
)
from user import User


def give(user: User) -> Any:
    """Shares a document. A device tells the user's other devices, with the fingerprint that the user
    confirmed, so that they make the share anew under a new document key."""
    session, keys = user.log_in()
    arguments = user.arguments
    recipient = find_recipient(session.http, arguments.recipient, arguments.fingerprint)
    terms = Terms(arguments.only_version, arguments.expires_at, arguments.replaces)
    share_id = share(session.http, keys, arguments.document, recipient, terms)
    if session.device_id is not None:
        given = {
            "documentId": arguments.document,
            "recipientId": recipient.id,
            "email": normalize_email(arguments.recipient),
            "version": terms.only_version,
            "expiresAt": terms.expires_at,
        }
        person = {"fingerprints": [arguments.fingerprint], "email": given["email"]}
        tell = {"given": {share_id: given}, "people": {given["email"]: person}}
        identity = load_identity(session.http, keys.present)
        write_report(session.http, keys, identity, session.device_id, tell)
    return {"shareId": share_id}


def renew(user: User) -> Any:
    session, keys = user.log_in()
    arguments = user.arguments
    recipient = find_recipient(session.http, arguments.recipient, arguments.fingerprint)
    return {"renewed": renew_shares(session.http, keys, arguments.document, recipient)}


def take_back(user: User) -> Any:
    session, keys = user.log_in()
    end_share(session.http, keys, user.arguments.document, user.arguments.share)
    return {}


def show_shared(user: User) -> Any:
    session, keys = user.log_in()
    return [
        {
            "shareId": received.share_id,
            "expiresAt": received.expires_at,
            "documentId": received.document_id,
            "version": received.version if received.is_of_one_version else None,
            "metadata": received.metadata,
            "text": download_share(session.http, received).decode(errors="replace"),
        }
        for received in receive(session.http, keys, user.arguments.sharer)
    ]
