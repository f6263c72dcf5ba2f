"""Commands for audit proofs."""

import time
from typing import Any

from audit_proof import verify_proof
from authorship import verify_author
from content import verify_original
from user import User, read_json
from vault_http import VaultError, VaultHttp

PROOF_TRIES = 100
PROOF_PAUSE_SECONDS = 0.2


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
    pages = session.http.get_pages("/v1/audit/entries", filters=filters, member="entries")
    entries = list(pages)
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
