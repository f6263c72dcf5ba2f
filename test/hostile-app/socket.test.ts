import { randomBytes, randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import * as fc from 'fast-check';
import canonicalize from 'canonicalize';
import type { AuditEntry } from '../../signer/protocol/entry.ts';
import { maxBatchEntries, type Seal, type SealResult } from '../../signer/protocol/protocol.ts';
import { noOwner } from '../../signer/protocol/reserved-actions.ts';
import { toSealedText } from '../../signer/protocol/sealed-text.ts';
import {
  createTokenFixture,
  startSigner,
  type RunningSigner,
  type TokenFixture,
} from '../support/audit/token-fixture.ts';
import { canonicalText, sampleEntry } from '../signer/sample-entry.ts';
import { testIssuer } from '../support/vault/stack.ts';

interface Context {
  readonly fixture: TokenFixture;
  readonly signer: RunningSigner;
  /** The id of the active audit key. */
  readonly audit: string;
  /** The id of the active token key. */
  readonly token: string;
}

/** Acts as whoever reaches the socket of the signer, such as a compromised app process. */
const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const fixture = await createTokenFixture();
  await fixture.tool('init');
  const signer = await startSigner(fixture);
  const [audit, token] = [await signer.keyId('audit'), await signer.keyId('token')];
  t.context = { fixture, signer, audit, token };
});

test.after.always(async ({ context: { signer, fixture } }) => {
  await signer?.stop();
  await fixture?.remove();
});

/** Asks for a seal with each request that seals entries. Resolves with the results. */
async function sealEverywhere({ signer: { client }, audit }: Context, entry: object) {
  const { id } = entry as AuditEntry;
  const sent = { id, text: canonicalText(entry) };
  const [plain] = await client.seal(audit, [sent]);
  const [record] = await client.sealKeyRecords(audit, [sent]);
  return [plain, record, await client.sealMark(audit, sent)];
}

/** An entry about a key, as the app would append it. */
function keyEntry(keyId: string, data: object, action = 'key.created'): AuditEntry {
  return sampleEntry({
    actor: { type: 'system', id: 'keys' },
    tenant: 'system',
    action,
    resource: { type: 'key', id: keyId, owner: noOwner },
    data: data as Record<string, unknown>,
  });
}

function markEntry(keyIds: readonly string[], change: Partial<AuditEntry> = {}): AuditEntry {
  const id = randomUUID();
  return sampleEntry({
    id,
    actor: { type: 'system', id: 'marks' },
    tenant: 'system',
    action: 'vault.marked',
    resource: { type: 'mark', id, owner: noOwner },
    seq: 1,
    requestId: null,
    data: { sealed: 9, newestEntryId: randomUUID(), keyIds: keyIds.join(' ') },
    ...change,
  });
}

const foreignKey = 'f'.repeat(32);
const foreign = {
  requestedBy: null,
  purpose: 'audit',
  generation: 2,
  algorithm: 'ECDSA-P256-SHA3-256',
  publicKey: randomBytes(91).toString('base64'),
  fingerprint: foreignKey + foreignKey,
  imported: false,
  state: 'CREATED',
};

test('no request seals what is said of a key that the token does not hold', async (t) => {
  const entries = [
    keyEntry(foreignKey, foreign),
    keyEntry(
      foreignKey,
      { requestedBy: null, purpose: 'audit', at: '', predecessor: null },
      'key.activated',
    ),
    keyEntry(
      foreignKey,
      { requestedBy: null, purpose: 'audit', at: '', successor: null },
      'key.retired',
    ),
    keyEntry(t.context.audit, foreign),
    keyEntry(t.context.audit, {}, 'key.invented'),
  ];
  for (const entry of entries) {
    for (const result of await sealEverywhere(t.context, entry)) {
      t.true(result !== undefined && 'error' in result, entry.action);
    }
  }
});

test('no request seals a mark of another vault, or of a log without the signing key', async (t) => {
  const entries = [
    markEntry([t.context.audit], { issuer: 'https://elsewhere.example' }),
    markEntry([foreignKey]),
    markEntry([]),
    markEntry([t.context.audit], { data: { sealed: 9 } }),
  ];
  for (const entry of entries) {
    for (const result of await sealEverywhere(t.context, entry)) {
      t.true(result !== undefined && 'error' in result, JSON.stringify(result));
    }
  }
  const own = await sealEverywhere(t.context, markEntry([t.context.audit]));
  t.deepEqual(
    own.map((result) => result !== undefined && 'error' in result),
    [true, true, false],
  );
});

test('an entry of the past is sealed, and says that it was sealed now', async (t) => {
  const { signer, audit } = t.context;
  const entry = sampleEntry({ timestamp: '2016-02-29T12:00:00.000Z' });
  const [result] = await signer.client.seal(audit, [{ id: entry.id, text: canonicalText(entry) }]);
  if (result === undefined || 'error' in result) return t.fail(JSON.stringify(result));
  t.true(result.late);
  t.true(Math.abs(Date.parse(result.sealedAt) - Date.now()) < 60_000);
  return undefined;
});

test('an entry of the future is not sealed', async (t) => {
  const entry = sampleEntry({ timestamp: '2030-01-01T00:00:00.000Z' });
  for (const result of await sealEverywhere(t.context, entry)) {
    t.true(result !== undefined && 'error' in result);
  }
});

test('an invented entry of any owner is sealed, though only now', async (t) => {
  const { signer, audit } = t.context;
  const entry = sampleEntry({
    resource: { type: 'document', id: randomUUID(), owner: randomUUID() },
  });
  const [result] = await signer.client.seal(audit, [{ id: entry.id, text: canonicalText(entry) }]);
  t.true(result !== undefined && 'signature' in result && !result.late);
});

test('a token of an administrator is signed, for 15 minutes at most, and is counted', async (t) => {
  const { signer, token: keyId } = t.context;
  const iat = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: testIssuer,
    sub: randomUUID(),
    aud: 'probatio',
    jti: randomUUID(),
    iat,
    exp: iat + 900,
    authz: { roles: ['platform_admin'], scopes: [] },
  };
  const ask = (change: object) =>
    signer.client.signToken({ keyId, typ: 'at+jwt', claims: { ...claims, ...change } });
  t.is(typeof (await ask({})), 'string');
  t.regex(await signer.metrics(), /signer_tokens_signed_total\{typ="at\+jwt"\} 1/);
  await t.throwsAsync(ask({ exp: iat + 901 }), { code: 'not_permitted' });
  await t.throwsAsync(ask({ iss: 'https://elsewhere.example' }), { code: 'wrong_issuer' });
  await t.throwsAsync(ask({ iat: iat - 900, exp: iat }), { code: 'clock_skew' });
});

/** Changes of one member of an entry, at any depth, and of its text. */
const json = fc.jsonValue({ maxDepth: 2 });
const mutations = fc.oneof(
  fc.record({ path: fc.constantFrom(...Object.keys(sampleEntry())), value: json }),
  fc.record({ path: fc.constantFrom('sealedAt', 'late', 'x', '__proto__'), value: json }),
  fc.record({
    path: fc.constantFrom('id', 'owner', 'type'),
    of: fc.constant('resource'),
    value: json,
  }),
  fc.record({ path: fc.constant('action'), value: fc.constantFrom('key.created', 'vault.marked') }),
  fc.record({ path: fc.constant('timestamp'), value: fc.date({ noInvalidDate: true }).map(toIso) }),
  fc.record({ at: fc.nat(), text: fc.string() }),
);
type Mutation = Readonly<
  Partial<Record<'path' | 'of' | 'text', string>> & { value?: unknown; at?: number }
>;

function toIso(date: Date): string {
  return date.toISOString();
}

function mutate(entry: AuditEntry, { path, of, value, at = 0, text }: Mutation): string {
  const whole = canonicalText(entry);
  if (text !== undefined) {
    const index = at % whole.length;
    return whole.slice(0, index) + text + whole.slice(index + 1);
  }
  const changed = { [path ?? '']: value };
  const members = entry as unknown as Record<string, object>;
  return canonicalText(
    of === undefined
      ? { ...entry, ...changed }
      : { ...entry, [of]: { ...members[of], ...changed } },
  );
}

const isSeal = (result: SealResult): result is Seal => 'signature' in result;

test('of 10,000 mutated entries well-formed ones are sealed, with the present time', async (t) => {
  const { signer, audit } = t.context;
  const batch = fc.array<Mutation>(mutations, {
    minLength: maxBatchEntries,
    maxLength: maxBatchEntries,
  });
  let sealed = 0;
  await fc.assert(
    fc.asyncProperty(batch, async (changes) => {
      const entries = changes.map((change) => {
        const entry = sampleEntry();
        return { id: entry.id, text: mutate(entry, change) };
      });
      const before = Date.now();
      const results = await signer.client.seal(audit, entries);
      for (const [index, result] of results.entries()) {
        if (!isSeal(result)) continue;
        sealed += 1;
        const { text } = entries[index] ?? { text: '' };
        const entry = JSON.parse(text) as AuditEntry & { sealedAt?: unknown };
        const published = toSealedText(text, entry, result);
        t.is(canonicalize(JSON.parse(published)), published);
        t.is(canonicalize(entry), text);
        t.is(entry.sealedAt, undefined);
        t.is(entry.issuer, testIssuer);
        t.notRegex(entry.action, /^key\.|^vault\.marked$/);
        const sealedAt = Date.parse(result.sealedAt);
        t.true(sealedAt >= before && sealedAt <= Date.now());
        t.true(Date.parse(entry.timestamp) <= sealedAt + 60_000);
        t.is(result.late, sealedAt - Date.parse(entry.timestamp) > 600_000);
      }
    }),
    { numRuns: Math.ceil(10_000 / maxBatchEntries), endOnFailure: true },
  );
  t.true(sealed > 100, `${sealed} were sealed`);
});
