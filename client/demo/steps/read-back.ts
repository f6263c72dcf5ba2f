import { openDocument } from '../../documents/open-document.ts';
import { searchDocuments } from '../../documents/search-documents.ts';
import { downloadFile } from '../../downloads/download.ts';
import { createNodeHash } from '../../node/hash.ts';
import type { VaultClient } from '../../vault.ts';
import { openAccount, type OpenAccount } from './account.ts';
import { DemoError } from '../terminal/demo-error.ts';
import { formatBytes } from '../terminal/progress.ts';
import { requireSame } from './same-bytes.ts';
import { sampleKeyword, type StoredEvidence } from './store-evidence.ts';

/**
 * Logs in a second time, as on another machine, and finds, downloads and decrypts the document with
 * nothing but the password. Throws DemoError on any mismatch.
 */
export async function readBack(
  client: VaultClient,
  { credentials }: OpenAccount,
  { document, source, say }: StoredEvidence,
): Promise<void> {
  const account = await openAccount(client, credentials);
  if (account === undefined) throw new DemoError('the account was not found at the second login');
  const { masterKey, session } = account;

  const ids: string[] = [];
  for await (const { id } of searchDocuments(session, { masterKey, all: [sampleKeyword] }))
    ids.push(id);
  if (!ids.includes(document.id)) throw new DemoError('the search did not find the document');
  say(
    `a second login finds it by the keyword "${sampleKeyword}", ` +
      'of which the vault knows only a hash',
  );

  const file = await openDocument(session, { id: document.id, masterKey });
  const { name, size } = file.metadata;
  say(`it decrypts the metadata: ${name}, ${formatBytes(size)}`);
  const tools = { http: session.http, createHash: createNodeHash };
  await requireSame(downloadFile(tools, file), source);
  say('and downloads and decrypts the file: the bytes and the SHA3-256 are the same');
}
