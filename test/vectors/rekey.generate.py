"""Makes rekey.json from docs/formats.md alone, with the package `cryptography` and nothing of the
TypeScript client. The words are of bip39.json. Run: python3 rekey.generate.py"""

import json
from base64 import b64encode
from hashlib import sha256, sha3_256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

HERE = Path(__file__).parent
N = int(
    """FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD
    EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED
    EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F
    83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B
    E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510
    15728E5A8AAAC42DAD33170D04507A33A85521ABDF1CBA64ECFB850458DBEF0A8AEA71575D060C7DB3970F85A6E1E4C7
    ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06D98A0864D87602733EC86A64521F2B18177B200C
    BBE117577A615D6C770988C0BAD946E208E24FA074E5AB3143DB5BFCE0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF
    """.replace("\n", "").replace(" ", ""),
    16,
)
WORDS = json.loads((HERE / "bip39.json").read_text())[6]["words"]
SALT = sha256(b"recovery salt").digest()
EARLIER_KEY = sha256(b"master key").digest()
EARLIER_PRIVATE_KEY = sha256(b"private key of the recipient").digest()
EARLIER_SEED = sha256(b"private signing key").digest()
MASTER_KEY = sha256(b"master key after a rekey").digest()
DEVICE_KEY = sha256(b"device key").digest()
REKEY_PRIVATE_KEY = sha256(b"private key of the rekey").digest()
DEVICE_ID = "6f1c9d0e-3b7a-4c52-9a8e-d4f0b1e2c3a5"


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def derive(key: bytes, label: str, salt: bytes = b"") -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=label.encode()).derive(key)


def wrap_master_key(key: bytes, master_key: bytes, generation: int) -> bytes:
    return aes_key_wrap(derive(key, f"Service_Master_Key_Wrap_v1:{generation}"), master_key)


def words_key(label: str) -> bytes:
    argon2_salt = sha3_256(label.encode() + b"\0" + SALT).digest()[:16]
    kdf = Argon2id(salt=argon2_salt, length=32, iterations=3, lanes=1, memory_cost=65536)
    return kdf.derive(WORDS.encode())


def public_key(private_key: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def recovery_vector() -> dict:
    auth_key = words_key("Service_Recovery_Auth_v1")
    recovery_key = words_key("Service_Recovery_Envelope_v1")
    x = int.from_bytes(sha3_256(SALT + auth_key).digest(), "big")
    return {
        "words": WORDS,
        "typed": "\u3000" + WORDS.upper().replace(" ", " \t\n", 3) + "\u00a0",
        "recoverySalt": SALT.hex(),
        "authKey": auth_key.hex(),
        "recoveryVerifier": pow(2, x, N).to_bytes(384, "big").hex(),
        "recoveryKey": recovery_key.hex(),
        "encryptedEnvelope": base64(wrap_master_key(recovery_key, MASTER_KEY, 2)),
    }


def device_vector() -> dict:
    device_public = public_key(derive(DEVICE_KEY, "Service_Device_Key_Pair_v1"))
    info = {"name": "Zoës Laptop", "platform": "Firefox", "publicKey": base64(device_public)}
    text = compact(info)
    padded = text + b" " * (-len(text) % 256)
    nonce = sha256(b"device nonce").digest()[:12]
    gcm = AESGCM(derive(EARLIER_KEY, "Service_Device_Info_v1"))
    sealed = gcm.encrypt(nonce, padded, b"\x01" + DEVICE_ID.encode())
    return {
        "deviceId": DEVICE_ID,
        "deviceKey": DEVICE_KEY.hex(),
        "publicKey": base64(device_public),
        "encryptedEnvelope": base64(wrap_master_key(DEVICE_KEY, EARLIER_KEY, 1)),
        "info": info,
        "nonce": nonce.hex(),
        "encryptedInfo": base64(b"\x01" + nonce + sealed),
    }


def rekey_vector() -> dict:
    device_private = derive(DEVICE_KEY, "Service_Device_Key_Pair_v1")
    device_public, rekey_public = public_key(device_private), public_key(REKEY_PRIVATE_KEY)
    shared = X25519PrivateKey.from_private_bytes(REKEY_PRIVATE_KEY).exchange(
        X25519PublicKey.from_public_bytes(device_public)
    )
    label = "Service_Device_Envelope_v1" + DEVICE_ID
    agreed_key = derive(shared, label, rekey_public + device_public)
    content = {
        "earlierKeys": [base64(EARLIER_KEY)],
        "earlierIdentities": [
            {"privateKey": base64(EARLIER_PRIVATE_KEY), "signingSeed": base64(EARLIER_SEED)}
        ],
        "devices": [{"deviceId": DEVICE_ID, "publicKey": base64(device_public)}],
    }
    prefix, nonce = b"\x03" + (2).to_bytes(4, "big") + rekey_public, sha256(b"keyring nonce").digest()[:12]
    gcm = AESGCM(derive(MASTER_KEY, "Service_Keyring_v3"))
    return {
        "privateKey": REKEY_PRIVATE_KEY.hex(),
        "publicKey": base64(rekey_public),
        "agreedKey": agreed_key.hex(),
        "deviceEnvelope": base64(wrap_master_key(agreed_key, MASTER_KEY, 2)),
        "earlierPrivateKey": EARLIER_PRIVATE_KEY.hex(),
        "earlierSeed": EARLIER_SEED.hex(),
        "nonce": nonce.hex(),
        "keyring": base64(prefix + nonce + gcm.encrypt(nonce, compact(content), prefix)),
    }


vectors = {
    "earlierKey": EARLIER_KEY.hex(),
    "masterKey": MASTER_KEY.hex(),
    "recovery": recovery_vector(),
    "device": device_vector(),
    "rekey": rekey_vector(),
}
text = json.dumps(vectors, indent=2, ensure_ascii=False) + "\n"
Path(__file__).with_name("rekey.json").write_text(text)
