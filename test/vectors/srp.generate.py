"""Makes srp.json, srp-rfc5054.json and argon2.json with nothing of the TypeScript client: Python's
integers and hashlib, and Argon2id of the package `cryptography` (OpenSSL). Run: python3 srp.generate.py"""

import json
import unicodedata
from hashlib import sha1, sha3_256
from pathlib import Path

from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

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
G = 2


def h(*parts: bytes) -> bytes:
    return sha3_256(b"".join(parts)).digest()


def pad(value: int) -> bytes:
    return value.to_bytes(384, "big")


def number(digest: bytes) -> int:
    return int.from_bytes(digest, "big")


def argon2_salt(label: str, salt: bytes) -> bytes:
    return h(label.encode(), b"\0", salt)[:16]


def password_key(password: str, salt: bytes, label: str) -> bytes:
    normalized = unicodedata.normalize("NFKC", password).encode()
    kdf = Argon2id(salt=argon2_salt(label, salt), length=32, iterations=3, lanes=1, memory_cost=65536)
    return kdf.derive(normalized)


def login(password: str, salt: bytes, a: int, b: int) -> dict:
    key = password_key(password, salt, "Service_SRP_Auth_v1")
    x = number(h(salt, key))
    v = pow(G, x, N)
    k = number(h(pad(N), pad(G)))
    A, B = pow(G, a, N), (k * v + pow(G, b, N)) % N
    u = number(h(pad(A), pad(B)))
    S = pow(A * pow(v, u, N), b, N)
    assert S == pow(B - k * v, a + u * x, N)
    K = h(pad(S))
    M1 = h(pad(A), pad(B), K)
    return {
        "password": password,
        "salt": salt.hex(),
        "authKey": key.hex(),
        "x": h(salt, key).hex(),
        "verifier": pad(v).hex(),
        "fingerprint": h(salt, pad(v)).hex()[:8],
        "k": k.to_bytes(32, "big").hex(),
        "a": a.to_bytes(32, "big").hex(),
        "A": pad(A).hex(),
        "b": b.to_bytes(32, "big").hex(),
        "B": pad(B).hex(),
        "u": u.to_bytes(32, "big").hex(),
        "S": pad(S).hex(),
        "K": K.hex(),
        "M1": M1.hex(),
        "M2": h(pad(A), M1, K).hex(),
    }


def with_short_public_value(password: str, salt: bytes) -> dict:
    """The first a whose A has a leading zero byte, where forgotten padding shows."""
    a = number(h(b"short A"))
    while pow(G, a, N) >> 8 * 383:
        a += 1
    return login(password, salt, a, number(h(b"b")))


def rfc5054() -> dict:
    n = int(
        """EEAF0AB9ADB38DD69C33F80AFA8FC5E86072618775FF3C0B9EA2314C9C256576D674DF7496EA81D3383B4813D692C6E0
        E0D5D8E250B98BE48E495C1D6089DAD15DC7D7B46154D6B6CE8EF4AD69B15D4982559B297BCF1885C529F566660E57EC
        68EDBC3C05726CC02FD4CBF4976EAA9AFD5138FE8376435B9FC61D2FC0EB06E3""".replace("\n", "").replace(" ", ""),
        16,
    )
    size = 128
    s = bytes.fromhex("BEB25379D1A8581EB5A727673A2441EE")
    a = int("60975527035CF2AD1989806F0407210BC81EDC04E2762A56AFD529DDDA2D4393", 16)
    b = int("E487CB59D31AC550471E81F00F6928E01DDA08E974A004F49E61F5D105284D20", 16)
    hash1 = lambda *parts: number(sha1(b"".join(parts)).digest())
    p = lambda value: value.to_bytes(size, "big")
    k = hash1(p(n), p(2))
    x = hash1(s, sha1(b"alice:password123").digest())
    v = pow(2, x, n)
    A, B = pow(2, a, n), (k * v + pow(2, b, n)) % n
    u = hash1(p(A), p(B))
    S = pow(A * pow(v, u, n), b, n)
    # As printed in RFC 5054, appendix B.
    assert "%040X" % k == "7556AA045AEF2CDD07ABAF0F665C3E818913186F"
    assert "%040X" % x == "94B7555AABE9127CC58CCF4993DB6CF84D16C124"
    assert "%040X" % u == "CE38B9593487DA98554ED47D70A7AE5F462EF019"
    assert ("%0256X" % S).startswith("B0DC82BABCF30674AE450C0287745E7990A3381F63B387AAF271A10D233861E3")
    values = {"N": n, "v": v, "A": A, "B": B, "S": S}
    return {
        "source": "RFC 5054, appendix B",
        "k": "%040x" % k,
        "x": "%040x" % x,
        "u": "%040x" % u,
        "a": "%064x" % a,
        **{name: p(value).hex() for name, value in values.items()},
    }


def write(name: str, value: object) -> None:
    (HERE / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


salt = h(b"salt")
write(
    "srp.json",
    [
        login("correct horse battery staple", salt, number(h(b"a")), number(h(b"b"))),
        login("Ångström ﬁ ½", h(b"salt")[:16], number(h(b"a2")), number(h(b"b2"))),
        with_short_public_value("correct horse battery staple", salt),
    ],
)
write("srp-rfc5054.json", rfc5054())
write(
    "argon2.json",
    [
        {
            "password": password,
            "salt": salt.hex(),
            "label": label,
            "argon2Salt": argon2_salt(label, salt).hex(),
            "key": password_key(password, salt, label).hex(),
        }
        for password in ("correct horse battery staple", "Ångström ﬁ ½")
        for label in ("Service_SRP_Auth_v1", "Service_Master_Envelope_v1")
    ],
)
