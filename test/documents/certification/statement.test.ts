import anyTest, { type TestFn } from 'ava';
import canonicalize from 'canonicalize';
import { fingerprintOf } from '../../../app/identities/public-identity.ts';
import {
  certify,
  getDocument,
  replaceMetadata,
  etagOf,
  removeDocument,
  storeDocument,
} from '../../support/documents/documents.ts';
import { aShare, askKey, createRecipient, entriesOf } from '../../support/documents/people.ts';
import { newSharingKey, putKey, signAs } from '../../support/documents/sharing-keys.ts';
import {
  membersFor,
  signStatement,
  statementLabel,
  type Members,
} from '../../support/documents/statements.ts';
import { proofHeader } from '../../support/accounts/reauth-account.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';

const test = anyTest as TestFn<{ vault: Vault }>;

test.before((t) => {
  t.context.vault = sharedVault();
});

const sealing = { action: 'document.sealed' };

async function createAuthor({ vault }: { readonly vault: Vault }) {
  const api = await createApi(vault);
  const key = newSharingKey();
  await putKey(api, key);
  return { api, key };
}

const certifyWith = (api: Api, id: string, json: unknown) =>
  api.send('POST', `/v1/documents/${id}/certify`, { json });

/** Returns the newest entry of a document. */
async function newestEntry(vault: Vault, id: string) {
  const entries = (await entriesOf(vault, id)) as { action: string; data: Members }[];
  return entries.at(-1);
}

test('a sealed entry holds the statement, byte for byte as it was signed', async (t) => {
  const { vault } = t.context;
  const { api, key } = await createAuthor(t.context);
  const { id } = await storeDocument(t, api);
  const stated = signStatement(key, await membersFor(api, key, { id, ...sealing }));
  const answer = await certifyWith(api, id, stated);
  t.is(answer.status, 200, JSON.stringify(answer.body));
  const { proof } = answer.body as { proof: { entryCanonical: string } };
  t.true(proof.entryCanonical.includes(`"statement":${stated.statement}}`));
  t.like(await newestEntry(vault, id), {
    data: { author: { signature: stated.signature, sharingKey: key.publicKey } },
  });
  t.is((await certifyWith(api, id, stated)).body['code'], 'document_sealed');
});

test('a statement that says something else than what is done is refused, by member', async (t) => {
  const { api, key } = await createAuthor(t.context);
  const other = await createAuthor(t.context);
  const { id } = await storeDocument(t, api);
  const members = await membersFor(api, key, { id, ...sealing });
  const digest = '0'.repeat(64);
  const minutes = (count: number) => new Date(Date.now() + count * 60_000).toISOString();
  const wrong: Record<string, unknown[]> = {
    v: [2, '1', undefined],
    issuer: ['https://other.example', undefined, null],
    owner: [other.api.caller.userId, id],
    action: ['document.deleted', 'document.shared', ''],
    documentId: [(await storeDocument(t, api)).id, id.toUpperCase()],
    version: [2, 0, '1', null],
    fileHash: [digest, ''],
    metadataHash: [digest, undefined],
    contentCommitment: [digest, undefined, ''],
    publicKey: [other.key.signingKey, key.publicKey],
    statedAt: [minutes(11), minutes(-11), 'now', 7, undefined, '2026-02-30T25:00:00.000Z'],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const { body, status } = await certifyWith(
        api,
        id,
        signStatement(key, { ...members, [name]: value }),
      );
      t.is(status, 400, name);
      t.is(body['code'], 'statement_invalid', name);
      const paths = (body['details'] as { path: string }[]).map(({ path }) => path);
      t.true(paths.includes(`statement.${name}`), `${name}: ${paths.join()}`);
    }
  }
  t.is((await getDocument(api, id)).body['status'], 'PENDING');
});

test('a statement of another form, or signed by somebody else, is refused', async (t) => {
  const { vault } = t.context;
  const { api, key } = await createAuthor(t.context);
  const stranger = newSharingKey();
  const { id } = await storeDocument(t, api);
  const members = await membersFor(api, key, { id, ...sealing });
  const good = signStatement(key, members);
  const sign = (statement: string, label = statementLabel) => ({
    statement,
    signature: signAs(key.signingKey, label, statement),
  });
  const invalid: Record<string, object> = {
    'no JSON': sign('jam'),
    'no object': sign('[]'),
    spaces: sign(good.statement.replace(':', ': ')),
    'other order': sign(JSON.stringify(members)),
    'a member twice': sign(good.statement.replace('{', '{"v":1,')),
    'a free text': signStatement(key, { ...members, note: 'I did not read it' }),
    'a stranger’s signature': signStatement(stranger, members),
    'signed as another kind': sign(good.statement, 'Service_Share_Signature_v1'),
    'the signature of another one': {
      ...good,
      signature: signStatement(key, { ...members, version: 9 }).signature,
    },
  };
  for (const [name, json] of Object.entries(invalid)) {
    const { status, body } = await certifyWith(api, id, json);
    t.deepEqual([status, body['code']], [400, 'statement_invalid'], name);
    t.true((body['details'] as unknown[]).length > 0, name);
  }
  const malformed: Record<string, unknown> = {
    'no signature': { statement: good.statement },
    'no statement': { signature: good.signature },
    'a short signature': { ...good, signature: 'AAAA' },
    '17 KiB': sign(`"${'a'.repeat(17 * 1024)}"`),
    'an object': { ...good, statement: members },
    'another member': { ...good, name: 'jam' },
    null: null,
  };
  for (const [name, json] of Object.entries(malformed)) {
    const { status, body } = await certifyWith(api, id, json);
    t.deepEqual([status, body['code']], [400, 'validation_failed'], name);
    t.true((body['details'] as unknown[]).length > 0, name);
  }
  t.is((await getDocument(api, id)).body['status'], 'PENDING');
  t.like(await newestEntry(vault, id), { action: 'document.created' });
  t.is((await certifyWith(api, id, good)).status, 200);
});

test('only the present identity of the caller states something', async (t) => {
  const { vault } = t.context;
  const { api, key } = await createAuthor(t.context);
  const { id } = await storeDocument(t, api);
  const members = await membersFor(api, key, { id, ...sealing });
  const headers = { ...(await proofHeader(vault, api.caller)), 'If-Match': '*' };
  const next = newSharingKey();
  await putKey(api, next, headers);
  t.is((await certifyWith(api, id, signStatement(key, members))).status, 400, 'a former identity');
  const without = await createApi(vault);
  const { id: own } = await storeDocument(t, without);
  const forged = signStatement(key, await membersFor(without, key, { id: own, ...sealing }));
  t.is((await certifyWith(without, own, forged)).status, 400, 'no identity');
  const { publicKey, wrappedPrivateKey } = newSharingKey();
  await putKey(without, { publicKey, wrappedPrivateKey });
  t.is((await certifyWith(without, own, forged)).status, 400, 'no private signing key');
  const present = signStatement(next, { ...members, publicKey: next.signingKey });
  t.is((await certifyWith(api, id, present)).status, 200);
});

test('a statement of metadata that has changed meanwhile is refused', async (t) => {
  const { api, key } = await createAuthor(t.context);
  const { id } = await storeDocument(t, api);
  const stated = signStatement(key, await membersFor(api, key, { id, ...sealing }));
  const changed = { encryptedMetadata: Buffer.from('changed').toString('base64') };
  await replaceMetadata(api, id, changed, { 'if-match': await etagOf(api, id) });
  const { body } = await certifyWith(api, id, stated);
  t.like(body['details'], [{ path: 'statement.metadataHash' }]);
});

test('without a statement everything is as before', async (t) => {
  const { vault } = t.context;
  const { api } = await createAuthor(t.context);
  const { id } = await storeDocument(t, api);
  t.is((await certify(api, id)).status, 200);
  t.false('author' in ((await newestEntry(vault, id))?.data ?? {}));
});

test('shares, their ends and deletions take a statement too', async (t) => {
  const { vault } = t.context;
  const { api, key } = await createAuthor(t.context);
  const { id } = await storeDocument(t, api);
  const recipient = await createRecipient(t, vault);
  const recipientId = String((await askKey(api, recipient.email)).body['recipientId']);
  const sharing = {
    id,
    action: 'document.shared',
    recipientFingerprint: fingerprintOf(recipient),
    sharedVersion: null,
  };
  const path = `/v1/documents/${id}`;
  const share = async (act: Parameters<typeof membersFor>[2]) => {
    const authorStatement = signStatement(key, await membersFor(api, key, act));
    return api.send('POST', `${path}/share`, { json: { ...aShare, recipientId, authorStatement } });
  };
  for (const wrong of [
    { recipientFingerprint: fingerprintOf(key) },
    { sharedVersion: 1 },
    { shareId: id },
  ]) {
    const { body } = await share({ ...sharing, ...wrong });
    t.is(body['code'], 'statement_invalid', canonicalize(wrong));
  }
  const shared = await share(sharing);
  t.is(shared.status, 201, JSON.stringify(shared.body));
  t.like(await newestEntry(vault, id), {
    action: 'document.shared',
    data: { author: { statement: { sharedVersion: null } } },
  });

  const shareId = String(shared.body['id']);
  const end = { id, action: 'document.unshared', shareId };
  const wrongEnd = signStatement(key, await membersFor(api, key, { ...end, shareId: id }));
  const wrong = await api.send('DELETE', `${path}/shares/${shareId}`, { json: wrongEnd });
  t.is(wrong.body['code'], 'statement_invalid');
  const json = signStatement(key, await membersFor(api, key, end));
  t.is((await api.send('DELETE', `${path}/shares/${shareId}`, { json })).status, 204);
  t.like(await newestEntry(vault, id), { data: { author: { statement: { shareId } } } });

  const deletion = { id, action: 'document.deleted' };
  const deleting = signStatement(key, await membersFor(api, key, deletion));
  const elsewhere = (await storeDocument(t, api)).id;
  const misused = await api.send('DELETE', `/v1/documents/${elsewhere}`, { json: deleting });
  t.is(misused.body['code'], 'statement_invalid');
  t.is((await api.send('DELETE', path, { json: deleting })).status, 204);
  t.like(await newestEntry(vault, id), {
    action: 'document.deleted',
    data: { author: { statement: { action: 'document.deleted', version: 1 } } },
  });
  t.is((await removeDocument(api, elsewhere)).status, 204, 'none is needed');
});
