"""Uses the API by a client that openapi-python-client made of openapi.json."""

import json
import os
import re
import uuid
from urllib.parse import parse_qs, urlsplit

from probatio_client.api.documents import certify_document, create_document, list_documents
from probatio_client.api.synchronisation import create_object, write_object
from probatio_client.client import AuthenticatedClient
from probatio_client.models.document_creation import DocumentCreation
from probatio_client.models.document_sealed_error import DocumentSealedError
from probatio_client.models.sync_conflict_error import SyncConflictError
from probatio_client.models.sync_creation import SyncCreation
from probatio_client.models.sync_write import SyncWrite

client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["TOKEN"])

created = []
for storage_path in json.loads(os.environ["STORAGE_PATHS"]):
    body = DocumentCreation.from_dict(
        {
            "encryptedMetadata": "bWV0YWRhdGE=",
            "keywordDeterministic": [],
            "storagePath": storage_path,
        }
    )
    key = str(uuid.uuid4())
    created.append(create_document.sync(client=client, body=body, idempotency_key=key).id)

listed = []
query = {"limit": 2}
while True:
    answer = list_documents.sync_detailed(client=client, **query)
    listed.extend(document.id for document in answer.parsed)
    link = re.match(r'<([^>]*)>; rel="next"', answer.headers.get("link", ""))
    if link is None:
        break
    query["cursor"] = uuid.UUID(parse_qs(urlsplit(link.group(1)).query)["cursor"][0])

certified = certify_document.sync(created[0], client=client)
again = certify_document.sync_detailed(created[0], client=client)
assert isinstance(again.parsed, DocumentSealedError), again

object_id = str(uuid.uuid4())
device = {"x_device_id": os.environ["DEVICE_ID"], "x_schema_version": "1"}
creation = SyncCreation.from_dict({"objectId": object_id, "data": {"title": "draft"}})
create_object.sync(client=client, body=creation, **device)


def write(title):
    delta = {"objectId": object_id, "version": 2, "baseVersion": 1, "delta": {"title": title}}
    return write_object.sync_detailed(client=client, body=SyncWrite.from_dict(delta), **device)


applied = write("one")
refused = write("two")
assert isinstance(refused.parsed, SyncConflictError), refused

print(
    json.dumps(
        {
            "created": [str(each) for each in created],
            "listed": [str(each) for each in listed],
            "sealedBy": str(certified.proof_id),
            "status": int(again.status_code),
            "proofId": str(again.parsed.proof_id),
            "applied": applied.parsed.data.to_dict(),
            "conflict": int(refused.status_code),
            "serverData": refused.parsed.server_data.to_dict(),
        }
    )
)
