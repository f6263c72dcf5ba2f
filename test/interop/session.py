"""Registers and logs in: from a password to a login session with the master key."""

import os
from typing import NamedTuple

import srp
import strict_base64
from key_wrap import unwrap_master_key, wrap_master_key
from rekey import generation_of
from passwords import AUTH_LABEL, ENVELOPE_LABEL, password_key
from srp import VAULT_GROUP as GROUP
from vault_http import VaultHttp
from white_space import trim

MASTER_ENVELOPE = "/v1/crypto/keys/master-envelope"


class Session(NamedTuple):
    """A login session. `http` carries the access token; `password_key` opens the master
    envelope."""

    http: VaultHttp
    password_key: bytes


def normalize_email(email: str) -> str:
    return trim(email).lower()


def wire_number(number: int) -> str:
    return GROUP.pad(number).hex()


def register(http: VaultHttp, email: str, password: str) -> str:
    """Registers an account. Returns the fingerprint of the registration."""
    salt = os.urandom(32)
    x = srp.secret_exponent(GROUP, salt, password_key(password, salt, AUTH_LABEL))
    verifier = srp.verifier(GROUP, x)
    body = {"email": normalize_email(email), "salt": salt.hex(), "verifier": wire_number(verifier)}
    http.post("/v1/auth/register", body)
    return srp.fingerprint(GROUP, salt, verifier)


def validate(http: VaultHttp, token: str) -> None:
    http.post("/v1/auth/validate-email", {"token": token})


def log_in(http: VaultHttp, email: str, password: str) -> Session:
    """Logs in. Raises ValueError if the server does not know the verifier."""
    a = int.from_bytes(os.urandom(32), "big")
    A = srp.public_value(GROUP, a)
    challenge = http.post(
        "/v1/auth/login/challenge", {"email": normalize_email(email), "A": wire_number(A)}
    )
    salt, B = bytes.fromhex(challenge["salt"]), int(challenge["B"], 16)
    x = srp.secret_exponent(GROUP, salt, password_key(password, salt, AUTH_LABEL))
    key = srp.session_key(GROUP, srp.shared_secret(GROUP, x, a, B))
    expected = srp.proofs(GROUP, A, B, key)
    answer = http.post(
        "/v1/auth/login/verify",
        {"sessionId": challenge["sessionId"], "A": wire_number(A), "M1": expected.M1.hex()},
    )
    srp.verify_server(expected, bytes.fromhex(answer["M2"]))
    return Session(
        http.with_token(answer["accessToken"]), password_key(password, salt, ENVELOPE_LABEL)
    )


def create_master_key(session: Session) -> bytes:
    master_key = os.urandom(32)
    envelope = strict_base64.encode(wrap_master_key(session.password_key, master_key, 1))
    session.http.post(MASTER_ENVELOPE, {"encryptedEnvelope": envelope})
    return master_key


def open_master_key(session: Session) -> bytes:
    stored = session.http.get(MASTER_ENVELOPE)
    envelope = strict_base64.decode(stored["encryptedEnvelope"])
    return unwrap_master_key(session.password_key, envelope, generation_of(stored["keyring"]))
