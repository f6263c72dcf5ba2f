"""A client of the vault, written from docs/formats.md and openapi.json alone.

The password is read from standard input; the result is one JSON value on standard output.
"""

import argparse
import hmac
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from audit_proof import verify_proof
from authorship import verify_author
from content import full_opening, segments_opening, verify_original
from devices import add_device, create_device, open_on_device, read_device
from documents import (
    add_version,
    certify,
    delete,
    read_document,
    read_documents,
    read_versions,
    state_of,
    store_file,
)
from encrypted_file import decrypt_file
from identity import load_identity
from memory import newest_states, read_reports, write_report
from new_master_key import change_master_key
from session import (
    MasterKeys,
    Session,
    create_master_key,
    log_in,
    normalize_email,
    open_master_keys,
    register,
    validate,
)
from sharing import download_share, end_share, receive, share
from validation_mail import wait_for_mail
from vault_http import VaultError, VaultHttp

PROOF_TRIES = 100
PROOF_PAUSE_SECONDS = 0.2


class User(NamedTuple):
    """Who runs a command, and with what."""

    vault: VaultHttp
    arguments: argparse.Namespace
    password: str

    def log_in(self) -> tuple[Session, MasterKeys]:
        """Logs in, on the device in the file of the arguments if they name one."""
        file = getattr(self.arguments, "device", None)
        device_id = read_device(file).id if file is not None and file.exists() else None
        session = log_in(self.vault, self.arguments.email, self.password, device_id)
        return session, open_master_keys(session)


def create_account(user: User) -> Any:
    http, arguments = user.vault, user.arguments
    fingerprint = register(http, arguments.email, user.password)
    mail = wait_for_mail(arguments.mail, normalize_email(arguments.email))
    if not hmac.compare_digest(mail.fingerprint, fingerprint):
        raise ValueError("somebody else registered this e-mail address")
    validate(http, mail.token)
    session = log_in(http, arguments.email, user.password)
    identity = load_identity(session.http, create_master_key(session))
    return {"fingerprint": fingerprint, "identity": identity.public.fingerprint}


def show_identity(user: User) -> Any:
    session, keys = user.log_in()
    return {"fingerprint": load_identity(session.http, keys.present).public.fingerprint}


def seal(user: User) -> Any:
    session, keys = user.log_in()
    arguments, path = user.arguments, user.arguments.file
    plaintext = path.read_bytes()
    document = store_file(
        session.http, keys, path.name, arguments.media_type, plaintext, arguments.keyword
    )
    proof = certify(session.http, keys, document, arguments.audit_key)
    content = document.metadata["content"]
    openings = [full_opening(content, len(plaintext))]
    if arguments.segment:
        openings.append(segments_opening(content, plaintext, arguments.segment))
    return {
        "documentId": document.id,
        "fileHash": document.metadata["fileHash"],
        "proof": proof,
        "openings": openings,
    }


def add(user: User) -> Any:
    session, keys = user.log_in()
    arguments = user.arguments
    plaintext = arguments.file.read_bytes()
    added = add_version(session.http, keys, arguments.document, plaintext)
    return {"version": added.place.version.number, "metadata": added.metadata}


def remove(user: User) -> Any:
    session, keys = user.log_in()
    delete(session.http, keys, user.arguments.document)
    return {}


def show_documents(user: User) -> Any:
    session, keys = user.log_in()
    documents = read_documents(session.http, keys, user.arguments.page_size)
    return {
        "documents": [
            {"id": document.id, "status": document.status, "metadata": document.metadata}
            for document in documents
        ]
    }


def show_versions(user: User) -> Any:
    session, keys = user.log_in()
    versions = read_versions(session.http, keys, user.arguments.document)
    return [
        {"version": one.place.version.number, "metadata": one.metadata} for one in versions
    ]


def open_file(user: User) -> Any:
    session, keys = user.log_in()
    arguments = user.arguments
    document = read_document(session.http, keys, arguments.document)
    plaintext = decrypt_file(document.file_key, arguments.encrypted.read_bytes())
    arguments.output.write_bytes(plaintext)
    return {"size": len(plaintext)}


def disclose(user: User) -> Any:
    session, keys = user.log_in()
    document = read_document(session.http, keys, user.arguments.document)
    return full_opening(document.metadata["content"], document.metadata["size"])


def check_original(user: User) -> Any:
    arguments = user.arguments
    entry = verify_proof(read_json(arguments.proof), arguments.audit_key)
    opening = read_json(arguments.opening)
    proven = verify_original(entry, opening, arguments.original.read_bytes())
    return {"whole": proven.whole, "ranges": proven.ranges}


def check_author(user: User) -> Any:
    arguments = user.arguments
    key_id = arguments.audit_key
    entry = verify_proof(read_json(arguments.proof), key_id)
    changes = [verify_proof(read_json(file), key_id) for file in arguments.change]
    author = verify_author(entry, arguments.fingerprint, changes)
    return {
        "action": entry["action"],
        "fingerprint": None if author is None else author.fingerprint,
    }


def show_proofs(user: User) -> Any:
    """Shows the signed proofs of what was done with a resource, oldest first."""
    session, _ = user.log_in()
    arguments = user.arguments
    filters = {"resourceType": arguments.type, "resourceId": arguments.id}
    entries = list(session.http.get_pages("/v1/audit/entries", filters=filters))
    entries.sort(key=lambda entry: entry["seq"])
    return [wait_for_proof(session.http, entry["id"]) for entry in entries]


def wait_for_proof(http: VaultHttp, proof_id: str) -> Any:
    for _ in range(PROOF_TRIES):
        try:
            return http.get(f"/v1/audit/proof/{proof_id}")
        except VaultError as error:
            if error.code != "proof_not_ready":
                raise
        time.sleep(PROOF_PAUSE_SECONDS)
    raise TimeoutError("the vault does not sign the entry")


def give(user: User) -> Any:
    session, keys = user.log_in()
    arguments = user.arguments
    share_id = share(
        session.http,
        keys,
        arguments.document,
        arguments.recipient,
        arguments.fingerprint,
        arguments.only_version,
    )
    return {"shareId": share_id}


def take_back(user: User) -> Any:
    session, keys = user.log_in()
    end_share(session.http, keys, user.arguments.document, user.arguments.share)
    return {}


def show_shared(user: User) -> Any:
    session, keys = user.log_in()
    return [
        {
            "shareId": received.share_id,
            "documentId": received.document_id,
            "version": received.version if received.is_of_one_version else None,
            "metadata": received.metadata,
            "text": download_share(session.http, received).decode(errors="replace"),
        }
        for received in receive(session.http, keys, user.arguments.sharer)
    ]


def rekey(user: User) -> Any:
    session, keys = user.log_in()
    secrets = read_json(user.arguments.secrets)
    passwords = (user.password, secrets["password"])
    email, words = user.arguments.email, secrets["words"]
    return {"fingerprint": change_master_key(session, keys, email, passwords, words)}


def register_device(user: User) -> Any:
    session, keys = user.log_in()
    device = create_device(user.arguments.device)
    add_device(session.http, keys, device, "interop")
    return {"deviceId": device.id}


def check_device(user: User) -> Any:
    """Compares the master key that the device opens with the one that the password opens."""
    session, keys = user.log_in()
    opened = open_on_device(session.http, read_device(user.arguments.device), keys.generation)
    return {"same": hmac.compare_digest(opened, keys.present), "generation": keys.generation}


def tell(user: User) -> Any:
    """Tells the user's other devices the present states of documents."""
    session, keys = user.log_in()
    states = {
        document_id: state_of(read_document(session.http, keys, document_id))
        for document_id in user.arguments.document
    }
    identity = load_identity(session.http, keys.present)
    device_id = read_device(user.arguments.device).id
    return {"number": write_report(session.http, keys, identity, device_id, {"documents": states})}


def show_told(user: User) -> Any:
    session, keys = user.log_in()
    identity = load_identity(session.http, keys.present)
    told = read_reports(session.http, keys, identity)
    return {
        "writers": {writer: read.number for writer, read in told.items()},
        "documents": newest_states(told),
    }


def read_json(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vault", required=True, help="base URL")
    parser.add_argument("--email", required=True)
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: Any, **arguments: dict[str, Any]) -> None:
        made = commands.add_parser(name)
        made.set_defaults(run=run)
        for argument, options in arguments.items():
            made.add_argument(f"--{argument.replace('_', '-')}", **options)

    text = {"required": True}
    path = {"required": True, "type": Path}
    texts = {"action": "append", "default": []}

    command("create-account", create_account, mail=path)
    command("identity", show_identity)
    command(
        "seal",
        seal,
        file=path,
        media_type=text,
        keyword=texts,
        audit_key={**text, "help": "id of the vault's audit key, from a trusted source"},
        segment={**texts, "type": int, "help": "to disclose"},
    )
    command("documents", show_documents, page_size={"type": int, "default": 100})
    command("add-version", add, document=text, file=path)
    command("versions", show_versions, document=text)
    command("delete", remove, document=text)
    command("open-file", open_file, document=text, encrypted=path, output=path)
    command("disclose", disclose, document=text)
    command(
        "check-original", check_original, proof=path, opening=path, original=path, audit_key=text
    )
    command(
        "check-author",
        check_author,
        proof=path,
        audit_key=text,
        fingerprint={"help": "of the author's identity, from elsewhere than the vault"},
        change={**texts, "type": Path, "help": "audit proof of a change of the identity"},
    )
    command("proofs", show_proofs, type=text, id=text)
    command(
        "share",
        give,
        document=text,
        recipient=text,
        fingerprint={**text, "help": "of the recipient's identity, from the recipient"},
        only_version={"type": int},
    )
    command("end-share", take_back, document=text, share=text)
    command("shared", show_shared, sharer={**text, "help": "fingerprint of who shares"})
    command("rekey", rekey, secrets={**path, "help": "JSON of the new password and words"})
    command("add-device", register_device, device=path)
    command("check-device", check_device, device=path)
    command("tell", tell, device=path, document=texts)
    command("told", show_told)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    password = sys.stdin.buffer.read().decode()
    json.dump(arguments.run(User(VaultHttp(arguments.vault), arguments, password)), sys.stdout)


if __name__ == "__main__":
    main()
