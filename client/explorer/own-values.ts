import { z } from 'zod';
import type { Http } from '../http/http.ts';
import { AuditProof } from '../proofs/proof-format.ts';
import type { OwnValues } from './api-document.ts';

const DocumentList = z.array(z.object({ id: z.string() }));
const EntryList = z.object({
  entries: z.array(z.object({ id: z.string(), state: z.string() })),
});
const ObjectList = z.object({
  objects: z.array(z.object({ objectId: z.string(), version: z.int() })),
});

/** Reads the visitor's newest document, sealed entry and object. */
export async function readOwnValues(http: Http, deviceId: string | undefined): Promise<OwnValues> {
  const [document] = await http.json(DocumentList, {
    method: 'GET',
    path: '/v1/documents',
    query: { limit: 1 },
  });
  const entryId = await findSealedEntry(http, document?.id);
  const proof = entryId === undefined ? undefined : await readProof(http, entryId);
  const object = deviceId === undefined ? undefined : await findObject(http, deviceId);
  return { documentId: document?.id, entryId, proof, deviceId, object };
}

/** Finds the newest sealed entry, of a document if there is one. */
async function findSealedEntry(http: Http, documentId: string | undefined) {
  const ofDocument = { resourceType: 'document', resourceId: documentId };
  const { entries } = await http.json(EntryList, {
    method: 'GET',
    path: '/v1/audit/entries',
    query: { ...(documentId === undefined ? {} : ofDocument), limit: 20 },
  });
  return entries.find(({ state }) => state === 'SEALED')?.id;
}

function readProof(http: Http, id: string) {
  const path = `/v1/audit/proof/${encodeURIComponent(id)}`;
  return http.json(AuditProof, { method: 'GET', path });
}

async function findObject(http: Http, deviceId: string) {
  const { objects } = await http.json(ObjectList, {
    method: 'GET',
    path: '/v1/sync',
    headers: { 'x-device-id': deviceId },
  });
  return objects.at(-1);
}
