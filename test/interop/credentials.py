"""Makes what the vault keeps of a password or of recovery words, and sets new ones."""

import os
from typing import NamedTuple

import strict_base64
from key_wrap import unwrap_master_key, wrap_master_key
from passwords import PASSWORD, Method, password_key
from recovery_words import RECOVERY, normalize_words
from rekey import generation_of
from session import MasterKeys, Session, make_verifier, prove_secret, reauthenticate, wire_number
from vault_http import VaultError, VaultHttp

RECOVERY_ENVELOPE = "/v1/crypto/keys/recovery-envelope"
CREDENTIALS = "/v1/auth/credentials"


class Credential(NamedTuple):
    salt: str
    verifier: str
    envelope: str


def make_credential(
    secret: str, method: Method, master_key: bytes, generation: int
) -> Credential:
    """Makes a new salt, the verifier, and the envelope of a master key under a secret."""
    salt = os.urandom(32)
    verifier = wire_number(make_verifier(secret, salt, method.auth_label))
    wrapping_key = password_key(secret, salt, method.envelope_label)
    envelope = wrap_master_key(wrapping_key, master_key, generation)
    return Credential(salt.hex(), verifier, strict_base64.encode(envelope))


def password_body(credential: Credential) -> dict[str, str]:
    """Names the members of a new password as the vault takes them."""
    salt, verifier, envelope = credential
    return {"salt": salt, "verifier": verifier, "masterEnvelope": envelope}


def words_body(words: str, master_key: bytes, generation: int) -> dict[str, str]:
    """Makes what the vault keeps of new recovery words."""
    phrase = normalize_words(words)
    salt, verifier, envelope = make_credential(phrase, RECOVERY, master_key, generation)
    return {
        "encryptedEnvelope": envelope,
        "recoverySalt": salt,
        "recoveryVerifier": verifier,
    }


def set_words(session: Session, keys: MasterKeys, email: str, password: str, words: str) -> None:
    """Sets the recovery words, the first ones or others. Raises VaultError if another client sets
    them at the same time."""
    proof = reauthenticate(session, email, password)
    body = words_body(words, keys.present, keys.generation)
    try:
        version = session.http.get(RECOVERY_ENVELOPE)["version"]
    except VaultError as error:
        if error.status != 404:
            raise
        session.http.post(RECOVERY_ENVELOPE, body, proof)
        return
    session.http.put(RECOVERY_ENVELOPE, body, {**proof, "If-Match": f'"{version}"'})


def recover(http: VaultHttp, email: str, words: str, password: str) -> None:
    """Sets a new password with the recovery words; the master key stays. Raises ValueError if these
    cannot be recovery words or the server does not know the verifier."""
    phrase = normalize_words(words)
    answer, salt = prove_secret(http, "/v1/auth/login/verify", email, phrase, RECOVERY)
    session = http.with_token(answer["accessToken"])
    stored = session.get(RECOVERY_ENVELOPE)
    generation = generation_of(stored["keyring"])
    master_key = unwrap_master_key(
        password_key(phrase, salt, RECOVERY.envelope_label),
        strict_base64.decode(stored["encryptedEnvelope"]),
        generation,
    )
    credential = make_credential(password, PASSWORD, master_key, generation)
    session.put(CREDENTIALS, password_body(credential))
