"""A client of the vault, written from docs/formats.md and openapi.json alone.

The password is read from standard input; the result is one JSON object on standard output.
"""

import argparse
import hmac
import json
import sys
from pathlib import Path
from typing import Any

from audit_proof import verify_proof
from content import full_opening, segments_opening, verify_original
from documents import certify, read_document, read_documents, store_file
from encrypted_file import decrypt_file
from session import create_master_key, log_in, normalize_email, open_master_key, register, validate
from validation_mail import wait_for_mail
from vault_http import VaultHttp


def create_account(http: VaultHttp, arguments: argparse.Namespace, password: str) -> dict[str, Any]:
    fingerprint = register(http, arguments.email, password)
    mail = wait_for_mail(arguments.mail, normalize_email(arguments.email))
    if not hmac.compare_digest(mail.fingerprint, fingerprint):
        raise ValueError("somebody else registered this e-mail address")
    validate(http, mail.token)
    create_master_key(log_in(http, arguments.email, password))
    return {"fingerprint": fingerprint}


def seal(http: VaultHttp, arguments: argparse.Namespace, password: str) -> dict[str, Any]:
    session = log_in(http, arguments.email, password)
    path: Path = arguments.file
    plaintext = path.read_bytes()
    stored = store_file(
        session.http,
        open_master_key(session),
        path.name,
        arguments.media_type,
        plaintext,
        arguments.keyword,
    )
    proof = certify(session.http, stored, arguments.audit_key)
    content = stored.metadata["content"]
    openings = [full_opening(content, len(plaintext))]
    if arguments.segment:
        openings.append(segments_opening(content, plaintext, arguments.segment))
    return {
        "documentId": stored.document_id,
        "fileHash": stored.file_hash,
        "proof": proof,
        "openings": openings,
    }


def show_documents(http: VaultHttp, arguments: argparse.Namespace, password: str) -> dict[str, Any]:
    session = log_in(http, arguments.email, password)
    documents = read_documents(session.http, open_master_key(session), arguments.page_size)
    return {
        "documents": [
            {"id": document.id, "status": document.status, "metadata": document.metadata}
            for document in documents
        ]
    }


def open_file(http: VaultHttp, arguments: argparse.Namespace, password: str) -> dict[str, Any]:
    session = log_in(http, arguments.email, password)
    document = read_document(session.http, open_master_key(session), arguments.document)
    plaintext = decrypt_file(document.file_key, arguments.encrypted.read_bytes())
    arguments.output.write_bytes(plaintext)
    return {"size": len(plaintext)}


def disclose(http: VaultHttp, arguments: argparse.Namespace, password: str) -> dict[str, Any]:
    session = log_in(http, arguments.email, password)
    document = read_document(session.http, open_master_key(session), arguments.document)
    return full_opening(document.metadata["content"], document.metadata["size"])


def check_original(
    http: VaultHttp, arguments: argparse.Namespace, password: str
) -> dict[str, Any]:
    proof = json.loads(arguments.proof.read_text("utf-8"))
    entry = verify_proof(proof, arguments.audit_key)
    opening = json.loads(arguments.opening.read_text("utf-8"))
    proven = verify_original(entry, opening, arguments.original.read_bytes())
    return {"whole": proven.whole, "ranges": proven.ranges}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vault", required=True, help="base URL")
    parser.add_argument("--email", required=True)
    commands = parser.add_subparsers(required=True)

    command = commands.add_parser("create-account")
    command.add_argument("--mail", type=Path, required=True, help="directory of .eml files")
    command.set_defaults(run=create_account)

    command = commands.add_parser("seal")
    command.add_argument("--file", type=Path, required=True)
    command.add_argument("--media-type", required=True)
    command.add_argument("--keyword", action="append", default=[])
    command.add_argument("--audit-key", required=True, help="id of the vault's audit key, from a trusted source")
    command.add_argument("--segment", action="append", default=[], type=int, help="to disclose")
    command.set_defaults(run=seal)

    command = commands.add_parser("documents")
    command.add_argument("--page-size", type=int, default=100)
    command.set_defaults(run=show_documents)

    command = commands.add_parser("open-file")
    command.add_argument("--document", required=True, help="its id")
    command.add_argument("--encrypted", type=Path, required=True)
    command.add_argument("--output", type=Path, required=True)
    command.set_defaults(run=open_file)

    command = commands.add_parser("disclose")
    command.add_argument("--document", required=True, help="its id")
    command.set_defaults(run=disclose)

    command = commands.add_parser("check-original")
    for name in ("proof", "opening", "original"):
        command.add_argument(f"--{name}", type=Path, required=True)
    command.add_argument("--audit-key", required=True, help="id of the vault's audit key")
    command.set_defaults(run=check_original)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    password = sys.stdin.buffer.read().decode()
    json.dump(arguments.run(VaultHttp(arguments.vault), arguments, password), sys.stdout)


if __name__ == "__main__":
    main()
