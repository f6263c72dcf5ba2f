import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import {
  certify,
  getDocument,
  removeDocument,
  storeDocument,
  storeVersion,
} from '../support/documents/documents.ts';
import { damages } from '../support/documents/stored-files.ts';
import { createApi } from '../support/documents/uploads.ts';
import { assertError } from '../support/http/error-body.ts';
import { createSql } from '../support/vault/sql.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { createSubmitter } from './jobs.ts';

let vault: TestVault;

test.before(async () => {
  vault = await startReadyVault();
});
test.after.always(() => vault.stop());

const type = 'DOCUMENT_FIXITY';
const scopes = ['documents:read', 'documents:write', 'uploads:write', 'jobs:submit'];

/** Creates a user with a sealed document, who submits jobs. */
async function createOwner() {
  const user = await createSubmitter(vault, { roles: ['user'], scopes });
  return { user, api: await createApi(vault, user.caller) };
}

async function failuresOf(documentId: string) {
  const entries = await entriesOf(createSql(vault), { resource: documentId });
  return entries.filter(({ action }) => action === 'document.fixity_failed');
}

test('a document whose files are whole is seen whole, in every version', async (t) => {
  const { user, api } = await createOwner();
  const { id, fileHash } = await storeDocument(t, api);
  await certify(api, id);
  const { body: added } = await storeVersion(t, api, id);
  t.is((await getDocument(api, id)).body.fixityVerifiedAt, null);
  const { submittedAt, ...job } = await user.untilOver(await user.submit(type, { documentId: id }));
  t.like(job, { status: 'COMPLETED', error: null });
  const versions = [fileHash, added.fileHash].map((hash, index) => ({
    version: index + 1,
    state: 'whole',
    fileHash: hash,
    foundHash: hash,
  }));
  t.deepEqual(job.result, { documentId: id, versions });
  const { fixityVerifiedAt } = (await getDocument(api, id)).body;
  t.true(String(fixityVerifiedAt) >= submittedAt, String(fixityVerifiedAt));
  t.deepEqual(await failuresOf(id), []);
});

for (const { what, state, damage } of damages) {
  test(`${what} is a result, an entry and a line of the log, each once`, async (t) => {
    const { user, api } = await createOwner();
    const { id, fileKey, fileHash } = await storeDocument(t, api);
    await certify(api, id);
    await damage(vault, fileKey);
    for (let round = 0; round < 2; round += 1) {
      const job = await user.untilOver(await user.submit(type, { documentId: id }));
      const [version] = (job.result as { versions: { foundHash: string | null }[] }).versions;
      t.like(version, { version: 1, state, fileHash });
      t.not(version?.foundHash, fileHash);
    }
    const failures = await failuresOf(id);
    t.is(failures.length, 1);
    t.like(failures[0], {
      owner: user.caller.userId,
      actor: { type: 'system', id: null },
      data: { version: 1, fileHash, state },
    });
    t.is((await getDocument(api, id)).body.fixityVerifiedAt, null);
    const lines = vault.logLines.filter((line) => line.includes(id) && line.includes(state));
    t.is(lines.length, 1);
  });
}

test('the entry of damage is signed like others', async (t) => {
  const { user, api } = await createOwner();
  const { id, fileKey } = await storeDocument(t, api);
  await damages[0]?.damage(vault, fileKey);
  await user.untilOver(await user.submit(type, { documentId: id }));
  const sql = createSql(vault);
  await until(
    async () => {
      const [entry] = await sql(
        `select state from audit_entries
         where resource_id = $1 and action = 'document.fixity_failed'`,
        [id],
      );
      return entry?.['state'] === 'SEALED';
    },
    { what: 'the entry to be signed', timeoutMs: 60_000 },
  );
  t.pass();
});

test.serial('an unavailable store is retried and never taken for damage', async (t) => {
  const { user, api } = await createOwner();
  const { id } = await storeDocument(t, api);
  const away = `${vault.storeDirectory}.away`;
  await rename(vault.storeDirectory, away);
  const jobId = await user.submit(type, { documentId: id });
  const sql = createSql(vault);
  try {
    await until(
      async () => {
        const [row] = await sql('select attempts, state from jobs where id = $1', [jobId]);
        return Number(row?.['attempts']) >= 2 && row?.['state'] === 'PENDING';
      },
      { what: 'two attempts to fail', timeoutMs: 60_000 },
    );
    t.deepEqual(await sql('select 1 from object_checks where document_id = $1', [id]), []);
  } finally {
    await rename(away, vault.storeDirectory);
  }
  t.like(await user.untilOver(jobId), {
    status: 'COMPLETED',
    result: { versions: [{ state: 'whole' }] },
  });
  t.deepEqual(await failuresOf(id), []);
});

test('foreign documents and wrong payloads are refused, and nothing is stored', async (t) => {
  const { api } = await createOwner();
  const { id } = await storeDocument(t, api);
  const stranger = await createSubmitter(vault, { scopes });
  const json = (payload: object) => ({ json: { type, payload } });
  for (const documentId of [id, randomUUID()]) {
    const answer = await stranger.send('POST', '/v1/jobs', json({ documentId }));
    assertError(t, answer, { status: 404, code: 'not_found' });
  }
  for (const payload of [{}, { documentId: 'x' }, { documentId: id, deep: true }, { email: id }]) {
    const answer = await stranger.send('POST', '/v1/jobs', json(payload));
    assertError(t, answer, { status: 400, code: 'validation_failed' });
  }
  const unscoped = await createSubmitter(vault, { ...api.caller, scopes: ['jobs:submit'] });
  const answer = await unscoped.send('POST', '/v1/jobs', json({ documentId: id }));
  assertError(t, answer, { status: 403, code: 'access_denied' });
  const { userId } = stranger.caller;
  const rows = await createSql(vault)('select 1 from jobs where user_id = any($1)', [
    [userId, api.caller.userId],
  ]);
  t.deepEqual(rows, []);
});

test('a recipient gets the shared version only, and the owner the entry', async (t) => {
  const { api } = await createOwner();
  const { id } = await storeDocument(t, api);
  const { fileKey, body } = await storeVersion(t, api, id);
  const recipient = await createSubmitter(vault, { roles: ['user'], scopes });
  await createSql(vault)(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref,
       recipient_user_id, wrapped_key, permissions, version)
     values (gen_random_uuid(), $1, $2, $3, gen_random_uuid(), $4, '', '{read}', 2)`,
    [api.caller.userId, api.caller.tenantId, id, recipient.caller.userId],
  );
  await damages[0]?.damage(vault, fileKey);
  const job = await recipient.untilOver(await recipient.submit(type, { documentId: id }));
  const { versions } = job.result as { versions: object[] };
  t.is(versions.length, 1);
  t.like(versions[0], { version: 2, state: 'damaged', fileHash: body.fileHash });
  t.like(await failuresOf(id), [{ owner: api.caller.userId, data: { version: 2 } }]);
});

test('a job whose document was removed meanwhile fails, and finds no damage', async (t) => {
  const { user, api } = await createOwner();
  const { id } = await storeDocument(t, api);
  const sql = createSql(vault);
  const jobId = randomUUID();
  t.is((await removeDocument(api, id)).status, 204);
  await sql(
    `insert into jobs (id, user_id, tenant_id, type, request_id, payload)
     values ($1, $2, $3, $4, gen_random_uuid(), $5)`,
    [jobId, user.caller.userId, user.caller.tenantId, type, JSON.stringify({ documentId: id })],
  );
  t.like(await user.untilOver(jobId), { status: 'FAILED', error: 'not_found', retryable: false });
  t.deepEqual(await failuresOf(id), []);
});
