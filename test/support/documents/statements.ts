import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { listVersions } from './documents.ts';
import { namesIn, signAs, type SharingKey } from './sharing-keys.ts';
import type { Api } from './uploads.ts';

export const statementLabel = 'Service_Author_Statement_v1';

type Signer = Pick<SharingKey, 'signingKey'>;

/** The members of a statement, and a change of them. */
export type Members = Readonly<Record<string, unknown>>;

/** Returns the members of the statement that the owner of a document makes of an act on it. */
export async function membersFor(
  api: Api,
  { signingKey }: Signer,
  { id, ...act }: Members & { readonly id: string; readonly action: string },
): Promise<Members> {
  const [newest] = await listVersions(api, id);
  const { version, fileHash, encryptedMetadata = '' } = newest ?? {};
  const metadataHash = createHash('sha3-256').update(encryptedMetadata, 'base64').digest('hex');
  return {
    v: 1,
    ...namesIn(api.token),
    documentId: id,
    version,
    fileHash,
    metadataHash,
    contentCommitment: null,
    publicKey: signingKey,
    statedAt: new Date().toISOString(),
    ...act,
  };
}

/** Signs a statement as its author would. */
export function signStatement({ signingKey }: Signer, members: Members) {
  const statement = canonicalize(members) ?? '';
  return { statement, signature: signAs(signingKey, statementLabel, statement) };
}
