import { openVersionOf } from '../../documents/open-document.ts';
import { downloadFile } from '../../downloads/download.ts';
import type { ByteSource } from '../../files/byte-source.ts';
import type { StoredFile } from '../../files/stored-file.ts';
import type { OpenedShare } from '../../sharing/received.ts';
import { createNodeHash } from '../../node/hash.ts';
import type { VaultSession } from '../../session.ts';
import { VaultError } from '../../errors/vault-error.ts';
import type { VaultClient } from '../../vault.ts';
import { createAccount, type OpenAccount } from './account.ts';
import { DemoError } from '../terminal/demo-error.ts';
import { requireSame } from './same-bytes.ts';
import type { StoredEvidence } from './store-evidence.ts';

interface SharedEvidence extends Pick<StoredEvidence, 'document' | 'say'> {
  /** The plaintext of each version, oldest first. */
  readonly versions: readonly ByteSource[];
  readonly mails: string;
}

/**
 * Shares a document with a new account and ends the share once that account has read it. Throws
 * DemoError if the account reads other bytes than were stored, or can read anything after the share
 * has ended.
 */
export async function shareWithSecondAccount(
  client: VaultClient,
  { session: owner }: OpenAccount,
  { document: { id }, versions, mails, say }: SharedEvidence,
): Promise<void> {
  const { credentials, session } = await createAccount(client, mails, () => {});
  const { fingerprint } = await session.enableSharing();
  say(`a second account, ${credentials.email}, has the fingerprint ${fingerprint}`);
  const confirm = (shown: string) => shown === fingerprint;
  const share = await owner.shareDocument(id, credentials.email, { confirm });
  say('shared with it: the vault showed the same keys, and has the document key under them alone');

  const names = await listNames(session);
  const opened = await session.openShared(share.id);
  await requireVersions(session, opened, versions);
  say(`the second account lists ${names.join(', ')}, and decrypts every version`);

  await owner.unshare(id, share.id);
  await requireNothing(session, opened);
  say('the share has ended: the second account lists nothing and downloads nothing more');
}

async function listNames(session: VaultSession): Promise<string[]> {
  const names: string[] = [];
  for await (const { metadata } of session.listShared()) {
    names.push(metadata?.name ?? 'a document that it cannot decrypt');
  }
  return names;
}

async function requireVersions(
  { http, documents }: VaultSession,
  opened: OpenedShare,
  versions: readonly ByteSource[],
): Promise<void> {
  const tools = { http, createHash: createNodeHash };
  let count = 0;
  for await (const { version } of documents.versions(opened.documentId)) {
    const source = versions[version - 1];
    if (source === undefined) throw new DemoError('the second account sees an unknown version');
    const file = await openVersionOf({ documents }, opened, version);
    await requireSame(downloadFile(tools, file), source);
    count += 1;
  }
  if (count !== versions.length) throw new DemoError('the second account misses a version');
}

async function requireNothing(session: VaultSession, file: StoredFile): Promise<void> {
  const names = await listNames(session);
  if (names.length > 0) throw new DemoError('the second account still lists the document');
  const tools = { http: session.http, createHash: createNodeHash };
  try {
    await downloadFile(tools, file).next();
  } catch (error) {
    if (error instanceof VaultError && error.status === 404) return;
    throw error;
  }
  throw new DemoError('the second account can still download the document');
}
