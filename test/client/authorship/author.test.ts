import test from 'ava';
import { createAuthor, withPresent } from '../../../client/authorship/author.ts';
import { readSignedStatement } from '../../../client/authorship/signed-statement.ts';
import type { StatedAct } from '../../../client/authorship/statement.ts';
import { VaultError } from '../../../client/errors/vault-error.ts';
import { createIdentity, fingerprintOf } from '../../../client/identity/identity.ts';
import { isSignedBy } from '../../../client/identity/signature.ts';
import { authorshipVectors } from './vectors.ts';

const { issuer, owner, cases } = authorshipVectors;
const [present, earlier] = [await createIdentity(), await createIdentity()];
const label = 'Service_Author_Statement_v1';
const act: StatedAct = {
  action: 'document.deleted',
  documentId: '01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35',
  version: 2,
  fileHash: 'ab'.repeat(32),
  metadataHash: 'cd'.repeat(32),
  contentCommitment: null,
};

/** Creates an author, and counts how often all identities are opened. */
function createCountingAuthor() {
  const opened = { all: 0 };
  const author = createAuthor({
    identities: {
      open: async () => present,
      async openAll() {
        opened.all += 1;
        return [present, earlier];
      },
    },
    readNames: async () => ({ issuer, owner }),
    now: () => new Date('2023-06-30T03:34:18.102Z'),
  });
  return { author, opened };
}

test('a user states what the vault and the clock name, by the present identity', async (t) => {
  const { author } = createCountingAuthor();
  const { statement, signature } = await author.state(act);
  const stated = JSON.parse(statement) as object;
  t.like(stated, { ...act, v: 1, issuer, owner, statedAt: '2023-06-30T03:34:18.102Z' });
  const message = new Uint8Array(Buffer.from(statement));
  const signed = { message, signature: new Uint8Array(Buffer.from(signature, 'base64')) };
  t.true(isSignedBy(present, label, signed));
  t.false(isSignedBy(earlier, label, signed));
});

test('identities of before a rekey are the user’s own, the present one at once', async (t) => {
  const { author, opened } = createCountingAuthor();
  t.true(await author.isOwn(fingerprintOf(earlier)));
  t.true(await author.isOwn(fingerprintOf(present)));
  t.false(await author.isOwn(fingerprintOf(await createIdentity())));
  await author.state(act);
  const before = opened.all;
  t.true(await author.isOwn(fingerprintOf(present)));
  t.is(opened.all, before);
});

const body = { code: 'statement_invalid', message: 'The statement is not of this document.' };
const refusal = new VaultError(400, new Headers(), body, new Date());

test('a refused statement is made once more, if the document changed meanwhile', async (t) => {
  const acted: string[] = [];
  const doOnce = async ({ etag }: { readonly etag: string }) => {
    acted.push(etag);
    if (acted.length === 1) throw refusal;
    return etag;
  };
  t.is(await withPresent(async () => ({ etag: 'new' }), doOnce, { etag: 'old' }), 'new');
  t.deepEqual(acted, ['old', 'new']);
});

test('a statement that is refused of the document as it is, or again, is an error', async (t) => {
  let acts = 0;
  const refuse = async () => {
    acts += 1;
    throw refusal;
  };
  const open = async () => ({ etag: 'same' });
  t.is(await t.throwsAsync(withPresent(open, refuse)), refusal);
  t.is(acts, 1);
  t.is(await t.throwsAsync(withPresent(open, refuse, { etag: 'old' })), refusal);
  t.is(acts, 3);
});

test('another error than a refused statement is passed on', async (t) => {
  const failure = new Error('no network');
  const fail = async () => {
    throw failure;
  };
  t.is(await t.throwsAsync(withPresent(async () => ({ etag: 'a' }), fail, { etag: 'b' })), failure);
});

test('a statement is read for OpenSSL as it was signed', (t) => {
  for (const { name, entry, verdict } of cases) {
    const read = readSignedStatement({ entryCanonical: entry });
    if (verdict === 'vault_word') t.is(read, undefined, name);
    if (read === undefined) continue;
    const isForged = verdict === 'statement_forged';
    const { message, signature, publicKey: signingKey } = read;
    const signed = { message: message.slice(`${label}\0`.length), signature };
    const holds = isSignedBy({ signingKey }, label, signed);
    t.is(holds, !isForged, name);
  }
});
