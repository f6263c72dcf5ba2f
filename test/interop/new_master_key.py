"""Makes a new master key, a rekey, with everything that belongs to it in one request."""

import os
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import recovery_words
import strict_base64
from documents import read_documents, state_of
from identity import create_identity, load_identity, read_names, wrap_identity
from key_wrap import wrap_master_key
from memory import write_list
from passwords import AUTH_LABEL, ENVELOPE_LABEL, password_key
from rekey import Keyring, KeyringHeader, open_device_info, seal_device_envelope, seal_keyring
from session import MasterKeys, Session, make_verifier, reauthenticate, wire_number
from vault_http import VaultHttp

DEVICES = "/v1/crypto/keys/devices"


def change_master_key(
    session: Session, keys: MasterKeys, email: str, passwords: tuple[str, str], words: str
) -> str:
    """Changes the master key, the password from the first to the second, the recovery words and the
    identity. Every device must have a public key. Returns the fingerprint of the new identity. Raises
    ValueError, InvalidUnwrap or InvalidTag, before anything is changed, if something of the present
    state does not open."""
    http, (password, new_password) = session.http, passwords
    proof = reauthenticate(session, email, password)
    before, names = load_identity(http, keys.present), read_names(http)
    public_keys = read_public_keys(http, keys)
    states = {document.id: state_of(document) for document in read_documents(http, keys, 100)}
    master_key, generation, identity = os.urandom(32), keys.generation + 1, create_identity()
    list_end = write_list(http, master_key, generation, identity, states)
    rekey_key = X25519PrivateKey.generate()
    keyring = Keyring(keys.all, [before, *keys.earlier_identities], public_keys, list_end)
    header = KeyringHeader(generation, rekey_key.public_key().public_bytes_raw())
    salt, verifier, envelope = make_credential(
        new_password, (AUTH_LABEL, ENVELOPE_LABEL), master_key, generation
    )
    recovery_salt, recovery_verifier, recovery_envelope = make_credential(
        recovery_words.normalize_words(words),
        (recovery_words.AUTH_LABEL, recovery_words.ENVELOPE_LABEL),
        master_key,
        generation,
    )
    body: dict[str, Any] = {
        "salt": salt,
        "verifier": verifier,
        "masterEnvelope": envelope,
        "recovery": {
            "encryptedEnvelope": recovery_envelope,
            "recoverySalt": recovery_salt,
            "recoveryVerifier": recovery_verifier,
        },
        "devices": [
            {
                "deviceId": device_id,
                "encryptedEnvelope": seal_device_envelope(
                    rekey_key, device_id, public_key, master_key, generation
                ),
            }
            for device_id, public_key in public_keys.items()
        ],
        "keyring": seal_keyring(master_key, header, keyring),
        "identity": wrap_identity(master_key, names, identity, before),
    }
    http.put("/v1/auth/credentials", body, proof)
    return identity.public.fingerprint


def make_credential(
    secret: str, labels: tuple[str, str], master_key: bytes, generation: int
) -> tuple[str, str, str]:
    """Returns a new salt, the verifier, and the envelope of a master key under a secret."""
    salt, (auth_label, envelope_label) = os.urandom(32), labels
    verifier = wire_number(make_verifier(secret, salt, auth_label))
    wrapping_key = password_key(secret, salt, envelope_label)
    envelope = wrap_master_key(wrapping_key, master_key, generation)
    return salt.hex(), verifier, strict_base64.encode(envelope)


def read_public_keys(http: VaultHttp, keys: MasterKeys) -> dict[str, bytes]:
    """Returns the public key of each device that the vault lists: from the device's info, if it opens
    under the present master key, and otherwise from the keyring."""
    public_keys = {}
    for item in http.get_pages(DEVICES):
        device_id = item["deviceId"]
        try:
            info = open_device_info(keys.present, device_id, item["encryptedInfo"])
            public_keys[device_id] = strict_base64.decode(info["publicKey"])
        except InvalidTag:
            public_keys[device_id] = keys.keyring.public_keys[device_id]
    return public_keys
