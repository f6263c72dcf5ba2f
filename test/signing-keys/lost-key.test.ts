import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import type { AuditProof } from '../../client/proofs/proof-format.ts';
import { verifyProof } from '../../client/proofs/verify-proof.ts';
import { askOpenssl } from '../support/audit/openssl.ts';
import { appendEntries, openTrail } from '../support/audit/entries.ts';
import { createAccount, logIn } from '../support/accounts/test-account.ts';
import { assertError } from '../support/http/error-body.ts';
import { postJson } from '../support/http/send.ts';
import { startOwnKeysVault, type KeysVault, type readRecord } from './keys-vault.ts';

/** Destroys the private and the public half of a key in the HSM. */
async function destroy({ fixture }: KeysVault, label: string): Promise<void> {
  for (const half of ['private', 'public']) await fixture.operate('destroy', half, label);
}

async function countUnsealed({ sql }: KeysVault): Promise<number> {
  return (await sql(`select 1 from audit_entries where state = 'PENDING'`)).length;
}

async function untilSealed(keys: KeysVault): Promise<void> {
  await until(async () => (await countUnsealed(keys)) === 0, {
    what: 'all entries to be sealed',
    timeoutMs: 60_000,
  });
}

/** Returns the audit entries of a key, with the id of the key that signed each. */
async function eventsOf({ sql }: KeysVault, keyId: string) {
  const rows = await sql(
    `select canonical, key_id from audit_entries
     where resource_type = 'key' and resource_id = $1 order by seq`,
    [keyId],
  );
  return rows.map(({ canonical, key_id: signedBy }) => {
    const { action, data } = JSON.parse(String(canonical)) as ReturnType<typeof readRecord>;
    return { action, data, signedBy };
  });
}

async function makeKey(
  keys: KeysVault,
): Promise<{ readonly keyId: string; readonly generation: number }> {
  const { status, body, text } = await keys.send('POST', '', { purpose: 'audit' });
  if (status !== 201) throw new Error(text);
  return body as { readonly keyId: string; readonly generation: number };
}

test('an audit key lost by the HSM is replaced on explicit request, visibly to all', async (t) => {
  const keys = await startOwnKeysVault(t, {
    AUDIT_BACKLOG_LIMIT: '20',
    KEYS_PUBLISH_SECONDS: '1000',
  });
  const first = await keys.activeKey('audit');
  const second = await keys.create('audit');
  await keys.sql("update signing_keys set registered_at = now() - interval '1 hour'");
  await keys.activate(second.keyId);
  await untilSealed(keys);
  const spare = await keys.create('audit');
  const refused = await keys.send('POST', `/${spare.keyId}/activate?predecessorLost=true`);
  assertError(t, refused, { status: 409, code: 'key_not_lost' });

  // The spare was vouched for before the loss; a key created after the loss is not.
  for (const label of ['audit-2', 'audit-3']) await destroy(keys, label);
  const open = await openTrail(keys.vault);
  t.teardown(() => open.close());
  await appendEntries(open, 21);
  const retireNone = () => keys.send('POST', `/${'0'.repeat(32)}/retire`);
  await until(async () => (await retireNone()).text.includes('audit_backlog_full'), {
    what: 'the backlog to be full',
    timeoutMs: 60_000,
  });
  const third = await makeKey(keys);
  t.is(third.generation, 4);
  const early = await keys.send('POST', `/${third.keyId}/activate`);
  assertError(t, early, { status: 409, code: 'key_not_published' });
  t.true((await countUnsealed(keys)) > 20);

  const activated = await keys.send('POST', `/${third.keyId}/activate?predecessorLost=true`);
  t.is(activated.status, 200, activated.text);
  await untilSealed(keys);
  t.is((await keys.activeKey('audit')).keyId, third.keyId);
  const listed = new Map((await keys.list()).map((key) => [key.keyId, key]));
  const [lost, successor] = [listed.get(second.keyId), listed.get(third.keyId)];
  t.is(lost?.state, 'RETIRED');
  t.is(lost?.retiredAt, successor?.activatedAt);
  t.is(successor?.vouchedBy, null);
  t.is(lost?.vouchedBy, first.keyId);

  const record = successor?.record as AuditProof;
  t.is(record.hsmKeyId, third.keyId);
  t.is(await askOpenssl(record), 'Verified OK');
  const trusted = [first.fingerprint, second.fingerprint];
  t.is(verifyProof(record, { trustedKeys: trusted }).reason, 'key_untrusted');
  t.true(verifyProof(record, { trustedKeys: [...trusted, successor?.fingerprint ?? ''] }).valid);
  t.true(verifyProof(lost?.record, { trustedKeys: trusted }).valid);

  const activation = (await eventsOf(keys, third.keyId)).at(-1);
  t.like(activation, { action: 'key.activated', signedBy: third.keyId });
  t.like(activation?.data, { predecessor: second.keyId, predecessorLost: true });
  const retirement = (await eventsOf(keys, second.keyId)).at(-1);
  t.like(retirement, { action: 'key.retired', signedBy: third.keyId });
  t.like(retirement?.data, { successor: third.keyId, lost: true });

  await until(async () => (await retireNone()).status === 404, {
    what: 'the backlog to be known to be empty',
    timeoutMs: 60_000,
  });
  const next = await keys.create('audit');
  t.is(next.vouchedBy, third.keyId);

  const token = await logIn(keys.vault, await createAccount(keys.vault));
  const asked = `${keys.vault.baseUrl}/v1/audit/proof/verify-external`;
  for (const proof of [lost?.record, record, next.record]) {
    t.like((await postJson(asked, { proof }, token)).body, { valid: true });
  }
});

test('a spare key vouched for before the loss replaces the lost key without a gap', async (t) => {
  const keys = await startOwnKeysVault(t);
  const first = await keys.activeKey('audit');
  const spare = await keys.create('audit');
  await untilSealed(keys);
  await destroy(keys, 'audit-1');
  const activated = await keys.send('POST', `/${spare.keyId}/activate`);
  t.is(activated.status, 200, activated.text);
  await untilSealed(keys);
  const listed = (await keys.list()).find(({ keyId }) => keyId === spare.keyId);
  t.like(listed, { state: 'ACTIVE', vouchedBy: first.keyId });
  t.true(verifyProof(listed?.record, { trustedKeys: [first.fingerprint] }).valid);
  t.like((await eventsOf(keys, spare.keyId)).at(-1), { signedBy: spare.keyId });
});

test('a token that lost its only audit key gets new ones, and one of them is active', async (t) => {
  const keys = await startOwnKeysVault(t);
  const first = await keys.activeKey('audit');
  await untilSealed(keys);
  await destroy(keys, 'audit-1');
  const open = await openTrail(keys.vault);
  t.teardown(() => open.close());
  await appendEntries(open, 1);
  await until(
    async () => (await keys.signer.client.health().catch(() => undefined))?.token !== 'ready',
    {
      what: 'the loss to be noticed',
      timeoutMs: 60_000,
    },
  );
  t.regex(await keys.fixture.tool('keygen audit 1'), /"generation":2/);
  const made = await until(() => makeKey(keys).catch(() => undefined), {
    what: 'the signer to find a key',
    timeoutMs: 60_000,
  });
  const spare = (await keys.list()).find(({ generation }) => generation === 2);
  // The registry learned of it in the sync before the other key was created.
  const answers = await Promise.all(
    [made.keyId, spare?.keyId].map((keyId) =>
      keys.send('POST', `/${keyId}/activate?predecessorLost=true`),
    ),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  t.is(refused.length, 1);
  for (const answer of refused) assertError(t, answer, { status: 409, code: 'key_not_lost' });
  await untilSealed(keys);
  const listed = (await keys.list()).filter(({ purpose }) => purpose === 'audit');
  t.deepEqual(
    listed.map(({ generation }) => generation),
    [1, 2, 3],
  );
  t.is(listed[0]?.state, 'RETIRED');
  t.deepEqual(
    listed
      .slice(1)
      .map(({ state }) => state)
      .toSorted(),
    ['ACTIVE', 'CREATED'],
  );
  t.true(verifyProof(listed[0]?.record, { trustedKeys: [first.fingerprint] }).valid);
});
