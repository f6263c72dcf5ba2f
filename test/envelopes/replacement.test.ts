import { randomBytes } from 'node:crypto';
import test from 'ava';
import type { KyselyPlugin } from 'kysely';
import { openDatabase } from '../../app/db/database.ts';
import { developer } from '../../app/devices/developer.ts';
import { createKeyForms } from '../../app/envelopes/key-form.ts';
import { createEnvelopes } from '../../app/envelopes/envelopes.ts';
import { anyEnvelope, ask, createOwner } from '../support/accounts/owner.ts';
import { assertError } from '../support/http/error-body.ts';
import { manyAtOnce } from '../support/http/many-at-once.ts';
import { countStatuses } from '../support/documents/files.ts';
import { createSql } from '../support/vault/sql.ts';
import { unlimited } from '../support/vault/unlimited.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import { createTestCipher } from '../support/encryption/test-cipher.ts';
import { serviceRequest } from '../support/http/service-request.ts';
import { createAct } from '../../app/audit-trail/act.ts';
import { createAuditTrail } from '../../app/audit-trail/audit-trail.ts';
import { testIssuer } from '../support/vault/stack.ts';

let vault: Vault;

test.before(async () => {
  vault = sharedVault();
});

// Tests that use every connection to Postgres are serial and run before all others.

const replace = (token: string, path: string, json: object, ifMatch?: string) =>
  ask(vault, token, 'PUT', path, {
    json,
    ...(ifMatch === undefined ? {} : { headers: { 'If-Match': ifMatch } }),
  });

for (const [path, wrappingKey] of [
  ['/master-envelope', 'kPasswordBase64'],
  ['/recovery-envelope', 'kRecoveryBase64'],
] as const) {
  test(`an envelope is replaced only by a request with its version: ${path}`, async (t) => {
    const { token, userId } = await createOwner(vault);
    const first = { encryptedEnvelope: anyEnvelope() };
    assertError(t, await replace(token, path, first, '"1"'), { status: 404, code: 'not_found' });
    const created = await ask(vault, token, 'POST', path, { json: first });
    t.is(created.headers.get('etag'), '"1"');

    const next = { encryptedEnvelope: anyEnvelope() };
    const required = { status: 428, code: 'precondition_required' };
    assertError(t, await replace(token, path, next), required);
    for (const stale of ['"0"', '"2"', 'W/"1"']) {
      const failed = { status: 412, code: 'precondition_failed' };
      assertError(t, await replace(token, path, next, stale), failed, stale);
    }
    assertError(t, await replace(token, path, next, '1'), { status: 400, code: 'invalid_request' });

    const replaced = await replace(token, path, next, '"1"');
    t.is(replaced.status, 200);
    t.is(replaced.headers.get('etag'), '"2"');
    t.is(replaced.headers.get('cache-control'), 'no-store');
    const { id } = created.body as { id: string };
    t.deepEqual(replaced.body, { id, ...next, algorithm: 'AES-256-KW', version: 2 });
    const found = await ask(vault, token, 'GET', path);
    t.is(found.headers.get('etag'), '"2"');
    t.like(found.body, { id, ...next, version: 2, keyring: null });

    const key = randomBytes(32).toString('base64');
    const raw = { [wrappingKey]: key, kMasterUserBase64: key };
    t.like((await replace(token, path, raw, '"2"')).body, { version: 3 });
    const entries = await createSql(vault)(
      `select action from audit_entries where user_id = $1 and resource_id = $2 order by seq`,
      [userId, id],
    );
    t.deepEqual(
      entries.map(({ action }) => action),
      ['envelope.created', 'envelope.replaced', 'envelope.replaced'],
    );
  });

  test.serial(`one of concurrent replacements succeeds: ${path}`, async (t) => {
    const { token } = await createOwner(vault);
    await ask(vault, token, 'POST', path, { json: { encryptedEnvelope: anyEnvelope() } });
    const changes = Array.from({ length: 20 }, () => ({ encryptedEnvelope: anyEnvelope() }));
    const answers = await Promise.all(changes.map((json) => replace(token, path, json, '"1"')));
    t.deepEqual(countStatuses(answers), { 200: 1, 412: 19 });
    const winner = changes[answers.findIndex(({ status }) => status === 200)];
    t.like((await ask(vault, token, 'GET', path)).body, { ...winner, version: 2 });
  });

  test.serial(`one of concurrent creations succeeds: ${path}`, async (t) => {
    const { token } = await createOwner(vault);
    const answers = await manyAtOnce(50, () =>
      ask(vault, token, 'POST', path, { json: { encryptedEnvelope: anyEnvelope() } }),
    );
    t.deepEqual(countStatuses(answers), { 201: 1, 409: 49 });
  });
}

test('recovery envelope and keyring come from one snapshot, whatever rekeys run', async (t) => {
  const sql = createSql(vault);
  const { token, userId } = await createOwner(vault);
  const { app: url, service: serviceUrl } = vault.databases;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  for (const path of ['/master-envelope', '/recovery-envelope']) {
    await ask(vault, token, 'POST', path, { json: { encryptedEnvelope: anyEnvelope() } });
  }
  await sql(`update key_envelopes set encrypted_envelope = 'first' where user_id = $1`, [userId]);
  /** Replaces the envelopes after each statement of a reader. */
  const rekey: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await sql(
        `update key_envelopes set encrypted_envelope = 'next',
           keyring = case when kind = 'MASTER' then 'next' end where user_id = $1`,
        [userId],
      );
      return result;
    },
  };
  const audit = createAuditTrail({
    issuer: testIssuer,
    assertClock: () => undefined,
    clock: () => new Date(),
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  const envelopes = createEnvelopes({
    issuer: '',
    unknownUser: 'reveal',
    cipher: createTestCipher(),
    act: createAct({ db, audit, plans: unlimited }),
    toEnvelope: createKeyForms({ rawForm: 'refuse' }),
    clock: () => new Date(),
    db: { ...db, asUser: (owner, work) => db.asUser(owner, (tx) => work(tx.withPlugin(rekey))) },
  });
  const request = serviceRequest({ ...developer, userId, tenantId: 'default' });
  t.like(await envelopes.get(request, 'RECOVERY'), { encryptedEnvelope: 'first', keyring: null });
  t.like(await envelopes.get(request, 'RECOVERY'), { encryptedEnvelope: 'next', keyring: 'next' });
});
