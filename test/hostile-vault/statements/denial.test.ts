import anyTest, { type TestFn } from 'ava';
import canonicalize from 'canonicalize';
import { verifyAuthor } from '../../../client/authorship/verify-author.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { storeBytes } from '../../support/client/stored.ts';
import { createVictim, rekey, type Victim } from '../liar.ts';
import { entryOf, type Entry } from './forger.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;

test.beforeEach(async (t) => {
  t.context = { victim: await createVictim() };
});

const record = (entry: Entry) => ({ entryCanonical: canonicalize(entry) ?? '' });

async function sealOne(victim: Victim): Promise<AuditProof> {
  const { session } = victim;
  const masterKey = await session.envelopes.openMasterKey();
  const { document } = await storeBytes({ ...victim, masterKey }, 10);
  return (await session.certifyDocument(document.id)).proof;
}

test('a user who denies a seal is convicted by a fingerprint from elsewhere', async (t) => {
  const { victim } = t.context;
  const { fingerprint } = await victim.session.enableSharing();
  const proof = await sealOne(victim);
  t.like(verifyAuthor(proof, { fingerprint }), { standing: 'known_key', fingerprint });
});

test('without a fingerprint the verdict claims no more than the vault’s word', async (t) => {
  const { victim } = t.context;
  const { fingerprint } = await victim.session.enableSharing();
  t.like(verifyAuthor(await sealOne(victim)), { standing: 'unknown_key', fingerprint });
});

test('a seal by somebody else convicts nobody whose fingerprint is known', async (t) => {
  const { victim } = t.context;
  const other = await createVictim();
  const { fingerprint } = await victim.session.enableSharing();
  const verdict = verifyAuthor(await sealOne(other), { fingerprint });
  t.deepEqual(verdict, { standing: 'invalid', reason: 'other_author' });
});

test('acts that an operator invents have no author', async (t) => {
  const { victim } = t.context;
  const { fingerprint } = await victim.session.enableSharing();
  const sealed = entryOf(await sealOne(victim));
  const { author, ...data } = sealed['data'] as Entry;
  for (const action of [
    'document.sealed',
    'document.shared',
    'document.unshared',
    'document.deleted',
  ]) {
    const invented = { ...sealed, action, data };
    t.deepEqual(verifyAuthor(record(invented), { fingerprint }), { standing: 'vault_word' });
    if (action === 'document.sealed') continue;
    const reused = verifyAuthor(record({ ...invented, data: { ...data, author } }));
    t.deepEqual(reused, { standing: 'invalid', reason: 'statement_mismatch' }, action);
  }
});

test('a new identity is followed by the signature of the one before, and only so', async (t) => {
  const { victim } = t.context;
  const { session } = victim;
  const { fingerprint } = await session.enableSharing();
  await rekey(victim);
  const proof = await sealOne(victim);
  const present = (await session.enableSharing()).fingerprint;
  t.not(present, fingerprint);
  const identityChanges = await session.proofs.identityChanges();
  t.like(verifyAuthor(proof, { fingerprint, identityChanges }), {
    standing: 'known_key',
    fingerprint: present,
  });
  const unfollowed = { standing: 'invalid', reason: 'other_author' } as const;
  t.deepEqual(verifyAuthor(proof, { fingerprint }), unfollowed, 'no changes are known');
  const entries = identityChanges.map(entryOf);
  for (const [name, change] of Object.entries({
    'without its endorsement': { endorsement: null },
    'with one of another key': { endorsement: 'A'.repeat(86) + '==' },
  })) {
    const lies = entries.map((entry) =>
      record({ ...entry, data: { ...(entry['data'] as Entry), ...change } }),
    );
    t.deepEqual(verifyAuthor(proof, { fingerprint, identityChanges: lies }), unfollowed, name);
  }
  const elsewhere = entries.map((entry) => record({ ...entry, issuer: 'https://other.example' }));
  t.deepEqual(verifyAuthor(proof, { fingerprint, identityChanges: elsewhere }), unfollowed);
});
