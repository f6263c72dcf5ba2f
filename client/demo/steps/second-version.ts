import { utf8ToBytes } from '@noble/hashes/utils.js';
import { addVersion } from '../../documents/add-version.ts';
import { blobSource, type ByteSource } from '../../files/byte-source.ts';
import { createNodeHash } from '../../node/hash.ts';
import { verifyProof } from '../../proofs/verify-proof.ts';
import type { OpenAccount } from './account.ts';
import { DemoError } from '../terminal/demo-error.ts';
import { readSealedEntry } from './sealed-entry.ts';
import type { StoredEvidence } from './store-evidence.ts';

/**
 * Adds a second version, a text of one line, and seals it. Resolves with the source of the new
 * version. Throws DemoError unless every version has a valid proof.
 */
export async function addSecondVersion(
  { session, masterKey }: OpenAccount,
  {
    name,
    document: { id },
    trustedKeys,
    say,
  }: StoredEvidence & { readonly trustedKeys: readonly string[] },
): Promise<ByteSource> {
  const source = blobSource(new Blob([utf8ToBytes(`A second version of ${name}.\n`)]));
  const tools = { ...session, createHash: createNodeHash };
  const { version } = await addVersion(tools, { id, masterKey, source });
  const { proof } = await session.certifyDocument(id);
  readSealedEntry(proof.entryCanonical, await session.documents.get(id));

  const proofs = await session.documents.proofs(id);
  const valid = proofs.filter((each) => verifyProof(each, { trustedKeys }).valid);
  if (valid.length !== version) throw new DemoError('not every version has a valid proof');
  say(
    `version ${version} added and sealed: ` +
      'each version has a proof of its own, and both are valid',
  );
  return source;
}
