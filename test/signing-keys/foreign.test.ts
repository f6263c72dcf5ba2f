import { generateKeyPairSync, hash, randomUUID, sign } from 'node:crypto';
import test from 'ava';
import canonicalize from 'canonicalize';
import { until } from '../../app/dev/processes/until.ts';
import type { AuditKey } from '../../client/proofs/audit-key.ts';
import { verifyKeyChain } from '../../client/proofs/key-chain.ts';
import { createAccount, logIn } from '../support/accounts/test-account.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { assertError } from '../support/http/error-body.ts';
import { postJson } from '../support/http/send.ts';
import { startOwnKeysVault } from './keys-vault.ts';

/** Creates a key outside of the HSM, and a proof that it signed. */
function createForeignKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const keyId = hash('sha256', spki).slice(0, 32);
  const id = randomUUID();
  const text = canonicalize({ v: 2, id, sealedAt: '2026-06-01T00:00:00.000Z' }) ?? '';
  const proof = {
    id,
    entryCanonical: text,
    entryHash: hash('sha3-256', text),
    hsmSignature: sign('sha3-256', Buffer.from(text), privateKey).toString('base64'),
    hsmKeyId: keyId,
    publicKey: spki.toString('base64'),
  };
  return { keyId, publicKey: proof.publicKey, proof };
}

test('a foreign key that the service login registers gets no record and no chain', async (t) => {
  const keys = await startOwnKeysVault(t);
  const service = await connectAs(keys.vault.databases.service);
  t.teardown(() => service.end());
  const register = ({ keyId, publicKey }: { keyId: string; publicKey: string }, more: string) =>
    service.query(
      `insert into signing_keys
         (key_id, purpose, algorithm, public_key, generation, state, activated_at, retired_at)
       values ($1, 'audit', 'ECDSA-P256-SHA3-256', $2, ${more})`,
      [keyId, publicKey],
    );
  const [created, invented] = [createForeignKey(), createForeignKey()];
  await register(created, "100, 'CREATED', null, null");
  await register(invented, "101, 'RETIRED', '2026-01-01', '2026-12-31'");
  // The next key makes the vault record all keys that have no record.
  t.is((await keys.create('token')).generation, 2);
  const refused = `select 1 from audit_entries join audit_queue on entry_id = id
    where resource_id = any($1) and action = 'key.created' and attempts > 0`;
  const keyIds = [created.keyId, invented.keyId];
  await until(async () => (await keys.sql(refused, [keyIds])).length === 2, {
    what: 'the refusal of the records',
    timeoutMs: 60_000,
  });
  const listed = await keys.list();
  for (const keyId of keyIds) {
    const key = listed.find((one) => one.keyId === keyId);
    t.like(key, { record: null, vouchedBy: null });
  }
  const answer = await keys.send('POST', `/${created.keyId}/activate`);
  assertError(t, answer, { status: 409, code: 'key_not_in_token' });

  const token = await logIn(keys.vault, await createAccount(keys.vault));
  const asked = `${keys.vault.baseUrl}/v1/audit/proof/verify-external`;
  const judge = async ({ proof }: typeof created) => (await postJson(asked, { proof }, token)).body;
  t.like(await judge(created), { valid: false, reason: 'outside_key_validity' });
  // The vault trusts its registry; whoever follows the chain of keys does not.
  t.like(await judge(invented), { valid: true, keyState: 'RETIRED' });
  const { keyId: first } = await keys.activeKey('audit');
  const trusted = verifyKeyChain(listed as readonly AuditKey[], { pinned: [first] });
  t.deepEqual(trusted, [first]);
});
