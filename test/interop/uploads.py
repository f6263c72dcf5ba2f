"""Uploads encrypted files."""

import uuid
from base64 import b64encode
from hashlib import sha256

from encrypted_file import SEGMENT_BYTES
from vault_http import VaultHttp

PART_BYTES = 16 * 1024 * 1024
MEDIA_TYPE = "application/octet-stream"


def upload(http: VaultHttp, encrypted: bytes) -> str:
    """Uploads a file and returns its key. Raises VaultError and never resumes, since the next try
    encrypts with new keys."""
    part_bytes = choose_part_bytes(len(encrypted), http.get("/v1/uploads/config")["maxParts"])
    parts = [
        encrypted[start : start + part_bytes] for start in range(0, len(encrypted), part_bytes)
    ]
    opened = http.post(
        "/v1/uploads",
        {
            "fileName": f"{uuid.uuid4()}.bin",
            "fileSize": len(encrypted),
            "mimeType": MEDIA_TYPE,
            "totalParts": len(parts),
        },
    )
    path = f"/v1/uploads/{opened['sessionId']}"
    for number, part in enumerate(parts, start=1):
        digest = b64encode(sha256(part).digest()).decode()
        http.put_bytes(f"{path}/parts/{number}", part, {"Content-Digest": f"sha-256=:{digest}:"})
    file_key: str = http.post(f"{path}/complete")["fileKey"]
    return file_key


def choose_part_bytes(size: int, max_parts: int) -> int:
    """Returns a multiple of the segment size: 16 MiB, or more if there would be too many parts."""
    needed = -(-size // max_parts)
    return max(PART_BYTES, -(-needed // SEGMENT_BYTES) * SEGMENT_BYTES)
