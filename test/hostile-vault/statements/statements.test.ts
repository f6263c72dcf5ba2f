import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { addVersion } from '../../../client/documents/add-version.ts';
import { signStatement } from '../../../client/authorship/statement.ts';
import { encodeBase64 } from '../../../client/bytes/base64.ts';
import { createIdentity } from '../../../client/identity/identity.ts';
import { AuditProof } from '../../../client/proofs/proof-format.ts';
import { SealError } from '../../../client/proofs/seal.ts';
import { sourceOf, storeBytes } from '../../support/client/stored.ts';
import { createVictim, type Victim } from '../liar.ts';
import { createForger, entryOf, type Entry } from './forger.ts';

/** A user who trusts a vault whose operator can sign any entry. */
interface Context {
  readonly victim: Victim;
  readonly forger: ReturnType<typeof createForger>;
}

const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const forger = createForger();
  t.context = { forger, victim: await createVictim({ trustedKeys: [forger.fingerprint] }) };
});
test.afterEach.always((t) => t.context.victim.tellTruth());

const certify = /^POST .*\/certify$/;

interface Author {
  readonly statement: Entry;
  readonly signature: string;
  readonly sharingKey: string;
}

const authorOf = (entry: Entry) => (entry['data'] as { readonly author: Author }).author;

/** Returns an entry with other members in its data. */
const withData = (entry: Entry, members: Entry): Entry => ({
  ...entry,
  data: { ...(entry['data'] as Entry), ...members },
});

const withAuthor = (entry: Entry, members: Partial<Author>): Entry =>
  withData(entry, { author: { ...authorOf(entry), ...members } });

async function storeOne(victim: Victim): Promise<string> {
  return (await storeBytes(victim, 100)).document.id;
}

/** Certifies a document at a vault whose HSM signs another entry than the true one. */
async function certifyForged(
  { victim, forger }: Context,
  id: string,
  forge: (entry: Entry) => Entry,
) {
  victim.lie(certify, (body) =>
    Object.assign(body, { proof: forger.prove(forge(entryOf(body['proof']))) }),
  );
  return victim.session.certifyDocument(id);
}

/** Seals a document and returns the true entry, as the vault of the operator has it. */
async function sealOne(context: Context, id: string): Promise<Entry> {
  const { proof } = await certifyForged(context, id, (entry) => entry);
  context.victim.tellTruth();
  return entryOf(proof);
}

async function assertRefused(
  t: ExecutionContext<Context>,
  reason: SealError['reason'],
  forge: (entry: Entry) => Entry,
  id?: string,
): Promise<void> {
  const forged = certifyForged(t.context, id ?? (await storeOne(t.context.victim)), forge);
  const error = await t.throwsAsync(forged, { instanceOf: SealError });
  t.is(error?.reason, reason);
  t.true(AuditProof.safeParse(error?.proof).success);
}

test.serial('an honest seal has the statement that the client made', async (t) => {
  const { victim, forger } = t.context;
  const { fingerprint } = await victim.session.enableSharing();
  victim.lie(certify, (body) =>
    Object.assign(body, { proof: forger.prove(entryOf(body['proof'])) }),
  );
  const { author } = await victim.session.certifyDocument(await storeOne(victim));
  t.is(author?.fingerprint, fingerprint);
});

test.serial('a statement that was dropped', async (t) => {
  await assertRefused(t, 'statement_missing', (entry) => withData(entry, { author: undefined }));
});

test.serial('a seal that somebody else asked for, without a statement', async (t) => {
  const { session } = await createVictim();
  const user = await createVictim();
  const id = await storeOne(user);
  await user.session.documents.certify(id);
  const refused = user.session.certifyDocument(id);
  const error = await t.throwsAsync(refused, { instanceOf: SealError });
  t.is(error?.reason, 'statement_missing');
  const seal = await user.session.certifyDocument(id, { acceptUnstated: true });
  t.is(seal.author, undefined);
  await session.logout();
});

test.serial('a statement that was replayed for another document', async (t) => {
  const other = authorOf(await sealOne(t.context, await storeOne(t.context.victim)));
  await assertRefused(t, 'statement_elsewhere', (entry) => withData(entry, { author: other }));
});

test.serial('a statement that was replayed for another version', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const id = await storeOne(victim);
  const first = authorOf(await sealOne(t.context, id));
  await addVersion(tools, { id, masterKey, source: sourceOf(new Uint8Array(10)) });
  const replayed = (entry: Entry) => withData(entry, { author: first });
  await assertRefused(t, 'statement_mismatch', replayed, id);
});

test.serial('the statement of another user', async (t) => {
  const { forger } = t.context;
  const other = await createVictim({ trustedKeys: [forger.fingerprint] });
  const stated = authorOf(await sealOne({ forger, victim: other }, await storeOne(other)));
  await assertRefused(t, 'statement_elsewhere', (entry) => withData(entry, { author: stated }));
});

test.serial('a statement in an entry of another vault', async (t) => {
  const elsewhere = { issuer: 'https://other.example' };
  await assertRefused(t, 'statement_elsewhere', (entry) => ({ ...entry, ...elsewhere }));
});

test.serial('a statement in the name of another actor', async (t) => {
  const actor = { type: 'user', id: crypto.randomUUID() };
  await assertRefused(t, 'statement_elsewhere', (entry) => ({ ...entry, actor }));
  await assertRefused(t, 'statement_elsewhere', (entry) => ({
    ...entry,
    actor: { ...(entry['actor'] as Entry), type: 'system' },
  }));
});

test.serial('an entry of another owner', async (t) => {
  await assertRefused(t, 'statement_elsewhere', (entry) => ({
    ...entry,
    resource: { ...(entry['resource'] as Entry), owner: crypto.randomUUID() },
  }));
});

test.serial('an old statement in an entry of another day', async (t) => {
  const later = new Date(Date.now() + 86_400_000).toISOString();
  await assertRefused(t, 'statement_misdated', (entry) => ({ ...entry, timestamp: later }));
});

test.serial('a statement that was dated anew', async (t) => {
  const statedAt = new Date(Date.now() + 60_000).toISOString();
  await assertRefused(t, 'statement_forged', (entry) =>
    withAuthor(entry, { statement: { ...authorOf(entry).statement, statedAt } }),
  );
});

test.serial('a statement with a word more, or a member less', async (t) => {
  await assertRefused(t, 'statement_malformed', (entry) =>
    withAuthor(entry, { statement: { ...authorOf(entry).statement, note: 'I agree' } }),
  );
  await assertRefused(t, 'statement_malformed', (entry) => {
    const { statedAt: _, ...statement } = authorOf(entry).statement;
    return withAuthor(entry, { statement });
  });
});

test.serial('a signature of another text', async (t) => {
  const other = authorOf(await sealOne(t.context, await storeOne(t.context.victim)));
  const { signature } = other;
  await assertRefused(t, 'statement_forged', (entry) => withAuthor(entry, { signature }));
});

test.serial('the same statement, signed by the vault with a key of its own', async (t) => {
  const own = await createIdentity();
  await assertRefused(t, 'other_author', (entry) => {
    const { v: _v, issuer, owner, publicKey: _key, statedAt, ...act } = authorOf(entry).statement;
    const names = { issuer: String(issuer), owner: String(owner) };
    const now = new Date(String(statedAt));
    const { statement, signature } = signStatement(own, names, act as never, now);
    const sharingKey = encodeBase64(own.publicKey);
    return withData(entry, {
      author: { statement: JSON.parse(statement) as Entry, signature, sharingKey },
    });
  });
});

test.serial('another sharing key beside the statement', async (t) => {
  const { publicKey } = await createIdentity();
  const sharingKey = encodeBase64(publicKey);
  await assertRefused(t, 'other_author', (entry) => withAuthor(entry, { sharingKey }));
});

test.serial('a seal of another original than the one that was stated', async (t) => {
  const contentCommitment = '0'.repeat(64);
  await assertRefused(t, 'other_commitment', (entry) => withData(entry, { contentCommitment }));
  await assertRefused(t, 'other_commitment', (entry) =>
    withData(entry, { contentCommitment: undefined }),
  );
});

test.serial('another id of the user, or another name of the vault', async (t) => {
  for (const lie of [{ userId: crypto.randomUUID() }, { issuer: 'https://other.example' }]) {
    const user = await createVictim();
    const id = await storeOne(user);
    const { client, credentials } = user;
    user.lie(/^GET .*\/auth\/account$/, (body) => Object.assign(body, lie));
    const session = await client.login(credentials);
    await t.throwsAsync(session.certifyDocument(id), { code: 'statement_invalid' });
  }
});

test.serial('no answer of the vault changes the names within a session', async (t) => {
  const { victim, forger } = t.context;
  await victim.session.enableSharing();
  victim.lie(/^GET .*\/auth\/account$/, (body) =>
    Object.assign(body, { userId: crypto.randomUUID() }),
  );
  victim.lie(certify, (body) =>
    Object.assign(body, { proof: forger.prove(entryOf(body['proof'])) }),
  );
  const { proof } = await victim.session.certifyDocument(await storeOne(victim));
  t.is((proof satisfies AuditProof).hsmKeyId, forger.keyId);
});
