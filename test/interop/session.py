"""Registers and logs in: from a password to a login session with the master keys."""

import os
from typing import Any, NamedTuple

import srp
import strict_base64
from identity import Identity
from key_wrap import unwrap_master_key, wrap_master_key
from rekey import Keyring, generation_of, open_keyring
from passwords import AUTH_LABEL, ENVELOPE_LABEL, PASSWORD, Method, password_key
from srp import VAULT_GROUP as GROUP
from vault_http import VaultHttp
from white_space import trim

MASTER_ENVELOPE = "/v1/crypto/keys/master-envelope"


class Session(NamedTuple):
    """A login session. `http` carries the access token; `password_key` opens the master envelope.
    The session is bound to a device if it names one."""

    http: VaultHttp
    password_key: bytes
    device_id: str | None = None


class MasterKeys(NamedTuple):
    """The present master key, and what the keyring holds of earlier ones, newest first."""

    present: bytes
    generation: int = 1
    keyring: Keyring = Keyring([], [], {})

    @property
    def all(self) -> list[bytes]:
        return [self.present, *self.keyring.earlier_keys]

    @property
    def earlier_identities(self) -> list[Identity]:
        return self.keyring.earlier_identities


def normalize_email(email: str) -> str:
    return trim(email).lower()


def wire_number(number: int) -> str:
    return GROUP.pad(number).hex()


def make_verifier(secret: str, salt: bytes, label: str) -> int:
    x = srp.secret_exponent(GROUP, salt, password_key(secret, salt, label))
    return srp.verifier(GROUP, x)


def register(http: VaultHttp, email: str, password: str) -> str:
    """Registers an account. Returns the fingerprint of the registration."""
    salt = os.urandom(32)
    verifier = make_verifier(password, salt, AUTH_LABEL)
    body = {"email": normalize_email(email), "salt": salt.hex(), "verifier": wire_number(verifier)}
    http.post("/v1/auth/register", body)
    return srp.fingerprint(GROUP, salt, verifier)


def validate(http: VaultHttp, token: str) -> None:
    http.post("/v1/auth/validate-email", {"token": token})


def log_in(http: VaultHttp, email: str, password: str, device_id: str | None = None) -> Session:
    """Logs in. Raises ValueError if the server does not know the verifier."""
    named = {} if device_id is None else {"deviceId": device_id}
    path = "/v1/auth/login/verify"
    answer, salt = prove_secret(http, path, email, password, PASSWORD, named)
    opening_key = password_key(password, salt, ENVELOPE_LABEL)
    return Session(http.with_token(answer["accessToken"]), opening_key, device_id)


def reauthenticate(session: Session, email: str, password: str) -> dict[str, str]:
    """Proves the password again. Returns the header that requests need which change keys."""
    answer, _ = prove_secret(session.http, "/v1/auth/reauth", email, password, PASSWORD)
    return {"X-Reauth-Token": answer["reauthToken"]}


def prove_secret(
    http: VaultHttp,
    path: str,
    email: str,
    secret: str,
    method: Method,
    named: dict[str, str] | None = None,
) -> tuple[Any, bytes]:
    """Answers a challenge. Returns the vault's answer to the proof, and the salt."""
    a = int.from_bytes(os.urandom(32), "big")
    A = srp.public_value(GROUP, a)
    asked = {"email": normalize_email(email), "A": wire_number(A), **method.challenge}
    challenge = http.post("/v1/auth/login/challenge", asked)
    salt, B = bytes.fromhex(challenge["salt"]), int(challenge["B"], 16)
    x = srp.secret_exponent(GROUP, salt, password_key(secret, salt, method.auth_label))
    key = srp.session_key(GROUP, srp.shared_secret(GROUP, x, a, B))
    expected = srp.proofs(GROUP, A, B, key)
    proof = {"sessionId": challenge["sessionId"], "A": wire_number(A), "M1": expected.M1.hex()}
    answer = http.post(path, {**proof, **(named or {})})
    srp.verify_server(expected, bytes.fromhex(answer["M2"]))
    return answer, salt


def create_master_key(session: Session) -> bytes:
    master_key = os.urandom(32)
    envelope = strict_base64.encode(wrap_master_key(session.password_key, master_key, 1))
    session.http.post(MASTER_ENVELOPE, {"encryptedEnvelope": envelope})
    return master_key


def open_master_keys(session: Session) -> MasterKeys:
    """Opens all master keys. Raises InvalidUnwrap or InvalidTag unless the password's envelope and
    the keyring belong together."""
    stored = session.http.get(MASTER_ENVELOPE)
    generation = generation_of(stored["keyring"])
    envelope = strict_base64.decode(stored["encryptedEnvelope"])
    present = unwrap_master_key(session.password_key, envelope, generation)
    if stored["keyring"] is None:
        return MasterKeys(present)
    return MasterKeys(present, generation, open_keyring(present, stored["keyring"]))
