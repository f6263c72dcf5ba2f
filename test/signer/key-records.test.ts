import { hash, randomUUID } from 'node:crypto';
import test from 'ava';
import type { EntryFault, PublicKey } from '../../signer/protocol/protocol.ts';
import { noOwner } from '../../signer/protocol/reserved-actions.ts';
import { importKey } from '../support/audit/imported-key.ts';
import {
  createTokenFixture,
  startSigner,
  type RunningSigner,
  type TokenFixture,
} from '../support/audit/token-fixture.ts';
import { sampleText } from './sample-entry.ts';

let fixture: TokenFixture;
let signer: RunningSigner;
/** The key that signs, and another of the same token. */
let active: string;
let spare: PublicKey;

test.before(async () => {
  fixture = await createTokenFixture();
  await fixture.tool('init');
  signer = await startSigner(fixture);
  active = await signer.keyId('audit');
  spare = await signer.client.createKey('audit');
});
test.after.always(async () => {
  await signer?.stop();
  await fixture?.remove();
});

const foreignId = 'f'.repeat(32);
const at = new Date().toISOString();
const by = { requestedBy: 'operator' };
const compromise = { purpose: 'audit', at, since: at, successor: null };

/** Returns the text of an entry of a key, as an app appends it. */
function textOf(action: string, keyId: string, data: Record<string, unknown>, change = {}) {
  return sampleText({
    action,
    actor: { type: 'system', id: 'keys' },
    tenant: 'system',
    resource: { type: 'key', id: keyId, owner: noOwner },
    data,
    ...change,
  });
}

function createdData(key: PublicKey, change: Record<string, unknown> = {}) {
  const { purpose, generation, algorithm, publicKey, imported } = key;
  const fingerprint = hash('sha256', Buffer.from(publicKey, 'base64'));
  const said = { purpose, generation, algorithm, publicKey, fingerprint, imported };
  return { ...by, ...said, state: 'CREATED', ...change };
}

async function faultOf(entry: ReturnType<typeof sampleText>): Promise<EntryFault | undefined> {
  const [result] = await signer.client.sealKeyRecords(active, [entry]);
  return result !== undefined && 'error' in result ? result.error : undefined;
}

test('entries of signing keys and marks are refused where other entries are sealed', async (t) => {
  const texts = [
    textOf('key.created', spare.keyId, createdData(spare)),
    textOf('key.other', spare.keyId, {}),
    sampleText({ action: 'vault.marked' }),
  ];
  for (const result of await signer.client.seal(active, texts)) {
    t.like(result, { error: 'reserved_action' });
  }
});

test('what the token holds is sealed', async (t) => {
  const { purpose } = spare;
  const texts = [
    textOf('key.created', spare.keyId, createdData(spare)),
    textOf('key.activated', spare.keyId, { ...by, purpose, at, predecessor: active }),
    textOf('key.retired', active, { ...by, purpose, at, successor: spare.keyId }),
    textOf('key.retired', foreignId, { ...by, purpose, at, successor: null, lost: true }),
    textOf('key.compromised', spare.keyId, { ...by, purpose, at, since: at, successor: null }),
    textOf('key.compromised', foreignId, { ...by, ...compromise, lost: true }),
  ];
  const results = await signer.client.sealKeyRecords(active, texts);
  t.deepEqual(
    results.map((result) => [result.id, 'hash' in result]),
    texts.map(({ id }) => [id, true]),
  );
});

test('a key that the token does not hold gets no record', async (t) => {
  const { purpose } = spare;
  const created = textOf('key.created', foreignId, createdData(spare));
  t.is(await faultOf(created), 'key_not_held');
  const activated = { ...by, purpose, at, predecessor: active };
  t.is(await faultOf(textOf('key.activated', foreignId, activated)), 'key_not_held');
  const retired = { ...by, purpose, at, successor: active };
  t.is(await faultOf(textOf('key.retired', foreignId, retired)), 'key_not_held');

  const { keyId } = await importKey(fixture, 'audit', 7);
  const imported = (await signer.client.listUnadopted()).find((key) => key.keyId === keyId);
  if (imported === undefined) throw new Error('the imported key is not listed');
  for (const change of [{}, { imported: false }]) {
    const text = textOf('key.created', keyId, createdData(imported, change));
    t.is(await faultOf(text), 'key_not_held');
  }
});

test('a key does not sign the record of its own compromise', async (t) => {
  const own = textOf('key.compromised', active, { ...by, ...compromise });
  t.is(await faultOf(own), 'signed_by_itself');
  const other = textOf('key.compromised', spare.keyId, { ...by, ...compromise, purpose: 'token' });
  t.is(await faultOf(other), 'key_differs');
  const unheld = textOf('key.compromised', foreignId, { ...by, ...compromise });
  t.is(await faultOf(unheld), 'key_not_held');
  const undated = textOf('key.compromised', spare.keyId, { ...by, ...compromise, since: 'then' });
  t.is(await faultOf(undated), 'not_a_key_record');
});

test('a record that says anything else of a key than the token is refused', async (t) => {
  const other = (await signer.client.listKeys()).find(({ keyId }) => keyId === active);
  for (const change of [
    { purpose: 'token' },
    { generation: 3 },
    { algorithm: 'RS256' },
    { publicKey: other?.publicKey },
    { fingerprint: hash('sha256', 'other') },
    { imported: true },
  ]) {
    const text = textOf('key.created', spare.keyId, createdData(spare, change));
    t.is(await faultOf(text), 'key_differs', JSON.stringify(change));
  }
  const retired = { ...by, purpose: 'audit', at, successor: null, lost: true };
  t.is(await faultOf(textOf('key.retired', spare.keyId, retired)), 'key_differs');
  const activated = { ...by, purpose: 'token', at, predecessor: null };
  t.is(await faultOf(textOf('key.activated', spare.keyId, activated)), 'key_differs');
});

test('a public half that is not that of the private key gets no record', async (t) => {
  await using other = await withMixedKey();
  const listed = await other.signer.client.listKeys();
  const mixed = listed.find((key) => key.generation === 2);
  if (mixed === undefined) throw new Error('the mixed key is not listed');
  t.false(mixed.imported);
  const text = textOf('key.created', mixed.keyId, createdData(mixed));
  const keyId = await other.activeId();
  t.like(await other.signer.client.sealKeyRecords(keyId, [text]), [{ error: 'key_differs' }]);
});

/** Starts a signer whose token has a generated private key beside an imported public half. */
async function withMixedKey() {
  await using resources = new AsyncDisposableStack();
  const own = await createTokenFixture();
  resources.defer(() => own.remove());
  await own.tool('init');
  await own.operate('make', 'audit', '2');
  await own.operate('mix', 'audit-2');
  const running = await startSigner(own);
  resources.defer(async () => void (await running.stop()));
  const activeId = async () =>
    (await running.client.listKeys()).find(
      ({ purpose, generation }) => purpose === 'audit' && generation === 1,
    )?.keyId ?? '';
  const moved = resources.move();
  return { signer: running, activeId, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

test('other shapes are no records of a key', async (t) => {
  const { keyId } = spare;
  const data = createdData(spare);
  for (const [action, more, change] of [
    ['key.created', { note: 'trust this key' }, {}],
    ['key.created', { state: undefined }, {}],
    ['key.renamed', {}, {}],
    ['upload.created', {}, {}],
    ['key.created', {}, { actor: { type: 'user', id: randomUUID() } }],
    ['key.created', {}, { tenant: 'default' }],
    ['key.created', {}, { resource: { type: 'document', id: keyId, owner: noOwner } }],
    ['key.created', {}, { resource: { type: 'key', id: keyId, owner: randomUUID() } }],
    ['key.created', {}, { outcome: 'failure' }],
  ] as const) {
    const text = textOf(action, keyId, { ...data, ...more }, change);
    t.is(await faultOf(text), 'not_a_key_record', `${action} ${JSON.stringify([more, change])}`);
  }
});

const markId = '01890a5d-ac96-774b-bcce-b302099a8057';

function markText(data: Record<string, unknown>, change = {}) {
  return sampleText({
    id: markId,
    action: 'vault.marked',
    actor: { type: 'system', id: 'marks' },
    tenant: 'system',
    resource: { type: 'mark', id: markId, owner: noOwner },
    seq: 1,
    requestId: null,
    data,
    ...change,
  });
}

test('a mark is sealed if it is one of this vault', async (t) => {
  const data = { sealed: 7, newestEntryId: randomUUID(), keyIds: `${active} ${foreignId}` };
  t.like(await signer.client.sealMark(active, markText(data)), { id: markId, keyId: active });
  for (const [more, change] of [
    [{ keyIds: foreignId }, {}],
    [{ keyIds: '' }, {}],
    [{ keyIds: `${active} jam` }, {}],
    [{ sealed: -1 }, {}],
    [{ newestEntryId: 'newest' }, {}],
    [{ note: 'all is well' }, {}],
    [{}, { action: 'document.sealed' }],
    [{}, { action: 'key.created' }],
    [{}, { id: randomUUID() }],
    [{}, { resource: { type: 'document', id: markId, owner: noOwner } }],
    [{}, { resource: { type: 'mark', id: markId, owner: randomUUID() } }],
    [{}, { actor: { type: 'user', id: randomUUID() } }],
    [{}, { tenant: 'default' }],
    [{}, { seq: 2 }],
  ] as const) {
    const text = markText({ ...data, ...more }, change);
    const result = await signer.client.sealMark(active, text);
    t.like(result, { error: 'not_a_mark' }, JSON.stringify([more, change]));
  }
});
