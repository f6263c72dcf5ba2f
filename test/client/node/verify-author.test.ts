import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { signStatement, type Statement } from '../../../client/authorship/statement.ts';
import { verifyAuthor, type AuthorVerdict } from '../../../client/authorship/verify-author.ts';
import { encodeBase64 } from '../../../client/bytes/base64.ts';
import { verifyOriginal } from '../../../client/disclosure/verify-original.ts';
import { createIdentity, fingerprintOf } from '../../../client/identity/identity.ts';
import { writeDisclosure } from '../../../client/node/disclosure/disclosure-folder.ts';
import { sourceOf } from '../../support/client/stored.ts';
import { runScript } from '../../support/disclosure/run-script.ts';
import {
  sealedDocumentId,
  sealFingerprint,
  sealOriginal,
  type JsonMembers,
} from '../../support/disclosure/sealed-original.ts';
import { temporaryDirectory } from '../../support/processes/processes.ts';

const bytes = new TextEncoder().encode('the original');
const author = await createIdentity();
const stranger = await createIdentity();
const fingerprint = fingerprintOf(author);
const names = { owner: '01890a5d-9a01-7d3e-8f21-5c6a3f0b7e11', issuer: 'https://vault.example' };

interface Stating {
  /** The timestamp of the entry. */
  readonly timestamp?: string;
  readonly by?: typeof author;
  readonly statement?: Partial<Statement>;
  readonly statedAt?: string;
  /** Members in place of those of `data.author`. */
  readonly author?: JsonMembers;
}

/** Seals an original whose entry holds a statement. */
function seal({
  by = author,
  statement = {},
  statedAt = '2026-11-23T07:29:58.000Z',
  timestamp = '2026-11-23T07:29:59.000Z',
  ...changed
}: Stating = {}) {
  const makeData = (contentCommitment: string) => {
    const act = {
      action: 'document.sealed',
      documentId: sealedDocumentId,
      version: 2,
      fileHash: 'ab'.repeat(32),
      metadataHash: 'cd'.repeat(32),
      contentCommitment,
      ...statement,
    } as const;
    const clock = { toISOString: () => statedAt } as Date;
    const signed = signStatement(by, names, act as never, clock);
    const sharingKey = encodeBase64(by.publicKey);
    const stated: unknown = JSON.parse(signed.statement);
    const { signature } = signed;
    return { author: { statement: stated, signature, sharingKey, ...changed.author } };
  };
  return sealOriginal(bytes, makeData, { timestamp });
}

/** Runs the script on a seal, and the library, which must agree. */
async function judge(
  t: Parameters<typeof temporaryDirectory>[0],
  sealed: Awaited<ReturnType<typeof seal>>,
  named?: string,
) {
  const directory = await temporaryDirectory(t);
  const { proof, opening } = sealed.discloseAll();
  await writeDisclosure(sealed.discloseAll(), directory);
  await writeFile(join(directory, 'original.txt'), bytes);
  const args = named === undefined ? [] : [sealFingerprint, named];
  const run = await runScript(directory, 'verify-original.sh', ['original.txt', ...args]);
  const trustedKeys = [sealFingerprint];
  const source = sourceOf(bytes);
  const library = await verifyOriginal({ proof, opening, source, trustedKeys, fingerprint: named });
  t.is(run.code === 0, library.valid, run.lines.join('\n'));
  return { directory, proof, lines: run.lines, code: run.code, library };
}

test('the script says what the author stated, and whose word the key is', async (t) => {
  const unnamed = await judge(t, await seal());
  t.is(unnamed.code, 0);
  const said = unnamed.lines.find((line) => line.startsWith('author: '));
  t.regex(said ?? '', new RegExp(`by the key ${fingerprint}, by the vault's word`));
  const known = await judge(t, await seal(), fingerprint);
  t.regex(known.lines.join('\n'), new RegExp(`by the key ${fingerprint}, as you named it`));
  const { code, lines } = await judge(t, await seal(), fingerprintOf(stranger));
  t.deepEqual(
    [code, lines.at(-1)],
    [1, `the author's key is not the one that you named: its fingerprint is ${fingerprint}`],
  );
});

test('without a statement the actor is the vault’s word', async (t) => {
  const { code, lines } = await judge(t, await sealOriginal(bytes));
  t.is(code, 0);
  t.regex(lines.join('\n'), /by the vault's word: the entry holds no statement/);
  const named = await judge(t, await sealOriginal(bytes), fingerprint);
  t.deepEqual([named.code, named.lines.at(-1)], [1, 'entry.json holds no statement of its author']);
});

const elsewhere = { ...names, owner: '01890a5d-0000-7d3e-8f21-5c6a3f0b7e11' };
const defects: Readonly<Record<string, readonly [string, Stating]>> = {
  'of another document': ['statement_elsewhere', { statement: { documentId: elsewhere.owner } }],
  'of another version': ['statement_mismatch', { statement: { version: 3 } }],
  'of another file': ['statement_mismatch', { statement: { fileHash: '0'.repeat(64) } }],
  'of other metadata': ['statement_mismatch', { statement: { metadataHash: '0'.repeat(64) } }],
  'of another original': ['statement_mismatch', { statement: { contentCommitment: null } }],
  'eleven minutes early': ['statement_misdated', { statedAt: '2026-11-23T07:18:59.000Z' }],
  'eleven minutes late': ['statement_misdated', { statedAt: '2026-11-23T07:40:59.001Z' }],
  'of another action': ['statement_mismatch', { statement: { action: 'document.deleted' } }],
  'with another member': [
    'statement_malformed',
    { statement: { note: 'a' } as Partial<Statement> },
  ],
  'with a text as version': ['statement_malformed', { statement: { version: '2' as never } }],
  'with a short signature': ['statement_malformed', { author: { signature: 'AAAA' } }],
  'with a signature in another spelling': [
    'statement_malformed',
    { author: { signature: `${'A'.repeat(85)}B==` } },
  ],
  'with a sharing key of 31 bytes': [
    'statement_malformed',
    { author: { sharingKey: encodeBase64(new Uint8Array(31)) } },
  ],
  'with a sharing key in another spelling': [
    'statement_malformed',
    { author: { sharingKey: `${'A'.repeat(42)}B=` } },
  ],
  'signed by nobody': [
    'statement_forged',
    { author: { signature: encodeBase64(new Uint8Array(64)) } },
  ],
};

for (const [name, [reason, stating]] of Object.entries(defects)) {
  test(`the script and the library refuse a statement ${name}`, async (t) => {
    const { proof, code, lines } = await judge(t, await seal(stating));
    const expected: AuthorVerdict = { standing: 'invalid', reason: reason as never };
    t.deepEqual(verifyAuthor(proof), expected);
    t.is(code, 1);
    const last = lines.at(-1) ?? '';
    if (reason === 'statement_forged') t.regex(last, /is not signed by the key that it names/);
    else t.true(last.endsWith(reason), last);
  });
}

test('the edge of ten minutes holds, over the end of a year too', async (t) => {
  for (const statedAt of ['2026-11-23T07:19:59.000Z', '2026-11-23T07:39:59.000Z']) {
    t.is((await judge(t, await seal({ statedAt }))).code, 0, statedAt);
  }
});

const days: Readonly<Record<string, boolean>> = {
  '2023-02-28': true,
  '2023-02-29': false,
  '2024-02-29': true,
  '2024-02-30': false,
  '2100-02-29': false,
  '2400-02-29': true,
  '2023-04-30': true,
  '2023-04-31': false,
  '2023-12-31': true,
  '2023-12-32': false,
  '2023-06-00': false,
  '2023-00-10': false,
  '2023-13-10': false,
};

for (const [day, exists] of Object.entries(days)) {
  test(`the script and the library know whether there is a ${day}`, async (t) => {
    const timestamp = `${day}T12:00:00.000Z`;
    const both = await judge(t, await seal({ statedAt: timestamp, timestamp }));
    t.is(both.code, exists ? 0 : 1);
    if (exists) return;
    // The day that a calendar counts on to is no other spelling of one that does not exist.
    const [year = 0, month = 0, date = 0] = day.split('-').map(Number);
    const next = new Date(Date.UTC(year, month - 1, date));
    const counted = `${next.toISOString().slice(0, 10)}T12:00:00.000Z`;
    for (const stating of [
      { statedAt: timestamp, timestamp: counted },
      { statedAt: counted, timestamp },
    ]) {
      const { lines, proof } = await judge(t, await seal(stating));
      t.true(lines.at(-1)?.endsWith('statement_malformed'), lines.join('\n'));
      t.like(verifyAuthor(proof), { standing: 'invalid', reason: 'statement_malformed' });
    }
  });
}

test('another sharing key has another fingerprint, which the named one shows', async (t) => {
  const sealed = await seal({ author: { sharingKey: encodeBase64(stranger.publicKey) } });
  t.is((await judge(t, sealed)).code, 0, 'nobody knows the key');
  t.is((await judge(t, sealed, fingerprint)).code, 1);
});

test('OpenSSL verifies the author’s part alone', async (t) => {
  const { directory } = await judge(t, await seal());
  const openssl = (file: string) =>
    promisify(execFile)(
      'openssl',
      ['pkeyutl', '-verify', '-rawin', '-pubin', '-inkey', 'author-key.pem', '-in', file].concat(
        '-sigfile',
        'author-signature.bin',
      ),
      { cwd: directory },
    );
  t.regex((await openssl('author-statement.bin')).stdout, /Verified Successfully/);
  const statement = await readFile(join(directory, 'author-statement.bin'));
  await writeFile(join(directory, 'changed.bin'), statement.fill(32, 40, 41));
  await t.throwsAsync(openssl('changed.bin'));
});
