"""A client of the vault, written from docs/formats.md and openapi.json alone.

The password is read from standard input; the result is one JSON value on standard output.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import account_commands as account
import document_commands as documents
import proof_commands as proofs
import sharing_commands as sharing
from user import User
from vault_http import VaultHttp


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vault", required=True, help="base URL")
    parser.add_argument("--email", required=True)
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: Any, /, **arguments: dict[str, Any]) -> None:
        made = commands.add_parser(name)
        made.set_defaults(run=run)
        for argument, options in arguments.items():
            made.add_argument(f"--{argument.replace('_', '-')}", **options)

    text = {"required": True}
    maybe_path = {"type": Path}
    path = {"required": True, **maybe_path}
    texts = {"action": "append", "default": []}
    stored = {"file": path, "media_type": text, "keyword": texts}
    recipient = {
        "recipient": text,
        "fingerprint": {**text, "help": "of the recipient's identity, from the recipient"},
    }

    command("create-account", account.create_account, mail=path)
    command("identity", account.show_identity)
    command("store", documents.store, **stored)
    command(
        "seal",
        documents.seal,
        **stored,
        audit_key={**text, "help": "id of the vault's audit key, from a trusted source"},
        segment={**texts, "type": int, "help": "to disclose"},
    )
    command("documents", documents.show_documents, page_size={"type": int, "default": 100})
    command("add-version", documents.add, document=text, file=path)
    command(
        "change-metadata", documents.change, document=text, name={}, keyword={"action": "append"}
    )
    command("versions", documents.show_versions, document=text)
    command("delete", documents.remove, document=text)
    command("open-file", documents.open_file, document=text, encrypted=path, output=path)
    command("disclose", documents.disclose, document=text)
    command(
        "check-original",
        proofs.check_original,
        proof=path,
        opening=path,
        original=path,
        audit_key=text,
    )
    command(
        "check-author",
        proofs.check_author,
        proof=path,
        audit_key=text,
        fingerprint={"help": "of the author's identity, from elsewhere than the vault"},
        change={**texts, "type": Path, "help": "audit proof of a change of the identity"},
    )
    command("proofs", proofs.show_proofs, type=text, id=text)
    command(
        "share",
        sharing.give,
        document=text,
        **recipient,
        only_version={"type": int},
        expires_at={"help": "ISO 8601 in UTC"},
        replaces={"help": "share that ends with this one"},
        device={**maybe_path, "help": "tells the other devices of the share"},
    )
    command("end-share", sharing.take_back, document=text, share=text)
    command("renew-shares", sharing.renew, document=text, **recipient)
    command("shared", sharing.show_shared, sharer={**text, "help": "fingerprint of who shares"})
    secrets = {**path, "help": "JSON of words, and of the new password"}
    command("rekey", account.rekey, secrets=secrets, device=maybe_path)
    command("new-words", account.show_words)
    command("set-words", account.keep_words, secrets=secrets)
    command("recover", account.recover_account, secrets=secrets)
    command("add-device", account.register_device, device=path)
    command("check-device", account.check_device, device=path)
    command("tell", account.tell, device=path, document=texts)
    command("told", account.show_told)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    password = sys.stdin.buffer.read().decode()
    json.dump(arguments.run(User(VaultHttp(arguments.vault), arguments, password)), sys.stdout)


if __name__ == "__main__":
    main()
