import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { Redis } from 'ioredis';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { commitmentOf, deriveCommitments } from '../../../client/content/commitment.ts';
import { deriveSegmentSalt, deriveWholeSalt } from '../../../client/content/salts.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { dump } from '../../support/accounts/purge-vault.ts';
import { collect } from '../../support/client/collect.ts';
import { spellingsOfKey } from '../../support/client/secret-encodings.ts';
import { storeBytes, toolsOf } from '../../support/client/stored.ts';
import { createUser } from '../../support/client/user.ts';
import { hashContent } from '../../support/disclosure/sealed-original.ts';
import { testStack } from '../../support/vault/stack.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

const mebibyte = 2 ** 20;

/** Returns what would let the vault confirm a guess of the plaintext, by name. */
async function traitsOf(bytes: Bytes, seedHex: string): Promise<ReadonlyMap<string, Bytes>> {
  const seed = hexToBytes(seedHex);
  const hashed = await hashContent(bytes, { seed });
  const { commitmentSalt, whole, root } = await deriveCommitments(hashed);
  const traits = new Map<string, Bytes>([
    ['seed', seed],
    ['root', hexToBytes(root)],
    ['whole', hexToBytes(whole)],
    ['commitment salt', hexToBytes(commitmentSalt)],
    ['salt of the whole', await deriveWholeSalt(seed)],
  ]);
  for (const algorithm of ['sha256', 'sha3-256', 'sha512', 'sha1', 'md5', 'blake2b512']) {
    const digest = createHash(algorithm).update(bytes).digest();
    traits.set(algorithm, new Uint8Array(digest));
  }
  for (const [index, leaf] of hashed.leaves.entries()) {
    const segment = bytes.subarray(index * mebibyte, (index + 1) * mebibyte);
    traits.set(`leaf ${index}`, leaf);
    traits.set(`salt ${index}`, await deriveSegmentSalt(seed, index));
    traits.set(`segment ${index}`, new Uint8Array(createHash('sha256').update(segment).digest()));
  }
  return traits;
}

/** Reads all that the vault keeps and has logged: tables, Redis, the object store and the log. */
async function readAll(vault: TestVault): Promise<ReadonlyMap<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (const [table, text] of await dump(createSql(vault))) found.set(table, Buffer.from(text));
  const redis = new Redis(testStack().redisUrl);
  try {
    for (const key of await redis.keys('*')) {
      const value = (await redis.type(key)) === 'string' ? await redis.get(key) : '';
      found.set(`Redis: ${key}`, Buffer.from(`${key} ${value ?? ''}`));
    }
  } finally {
    redis.disconnect();
  }
  for (const root of [vault.storeDirectory, vault.mailDirectory]) {
    for (const name of await readdir(root, { recursive: true })) {
      const path = join(root, name);
      if ((await stat(path)).isFile()) found.set(path, await readFile(path));
    }
  }
  found.set('log', Buffer.from(vault.logLines.join('\n')));
  return found;
}

function namesOf(kept: ReadonlyMap<string, Buffer>, value: Bytes): string[] {
  const needles = [Buffer.from(value), ...spellingsOfKey(value).map((text) => Buffer.from(text))];
  return [...kept]
    .filter(([, bytes]) => needles.some((needle) => bytes.includes(needle)))
    .map(([name]) => name);
}

test('nothing that the vault keeps or logs tells a hash of the plaintext', async (t) => {
  const vault = await startReadyVault({ LOG_LEVEL: 'trace' });
  t.teardown(() => vault.stop());
  const user = await createUser(vault);
  const { session, masterKey } = user;
  const { document, bytes } = await storeBytes(user, 2 * mebibyte + 5, { keywords: ['lease'] });
  const { id } = document;
  await session.certifyDocument(id);
  const { readSegments } = await session.disclose(id, { segments: [1] });
  const pieces = async function* () {
    for await (const segment of readSegments?.() ?? []) yield segment.bytes;
  };
  t.is((await collect(pieces())).length, mebibyte);
  await session.disclose(id, { includeFile: true });

  const { metadata } = await openDocument(toolsOf(session), { id, masterKey });
  const kept = await readAll(vault);
  for (const [name, value] of await traitsOf(bytes, metadata.content.seed)) {
    t.deepEqual(namesOf(kept, value), [], name);
  }
  // The search finds what is there: the commitment, and the hash of the ciphertext.
  const commitment = namesOf(kept, hexToBytes(await commitmentOf(metadata)));
  t.true(commitment.includes('audit_log'), commitment.join(', '));
  t.true(namesOf(kept, hexToBytes(document.fileHash)).includes('audit_log'));
  t.true((kept.get('log')?.length ?? 0) > 10_000);
});
