"""Prints the hashes and keys that this client derives from texts, for a comparison. Reads one JSON
object from standard input and writes one."""

import json
import sys

from keywords import keyword_hash
from passwords import AUTH_LABEL, password_key


def main() -> None:
    given = json.load(sys.stdin)
    master_key, salt = bytes.fromhex(given["masterKey"]), bytes.fromhex(given["salt"])
    derived = {
        "keywordHashes": [keyword_hash(master_key, keyword) for keyword in given["keywords"]],
        "authKeys": [
            password_key(password, salt, AUTH_LABEL).hex() for password in given["passwords"]
        ],
    }
    json.dump(derived, sys.stdout)


if __name__ == "__main__":
    main()
