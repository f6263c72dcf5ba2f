import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import {
  abort,
  bytesOf,
  complete,
  fileOf,
  openSession,
  putPart,
  upload,
} from '../../support/documents/files.ts';
import { certify, createDocument, storeDocument } from '../../support/documents/documents.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { appendEntries, eventOf, openTrail } from '../../support/audit/entries.ts';
import { startVaultWithSigner } from '../../support/audit/killable-signer.ts';

const write = (api: Api) =>
  api.send('POST', '/v1/crypto/keys/master-envelope', {
    json: { encryptedEnvelope: randomBytes(40).toString('base64') },
  });

test('above the limit of unsigned entries writes fail with 503, and reads go on', async (t) => {
  const { vault, signer, stop } = await startVaultWithSigner({ AUDIT_BACKLOG_LIMIT: '20' });
  t.teardown(stop);
  const [api, reader] = [await createApi(vault), await createApi(vault)];
  const { id } = await storeDocument(t, api);
  const { fileKey } = await upload(t, api, bytesOf(10));
  const sessionId = await openSession(t, api, 10);
  const open = await openTrail(vault);
  t.teardown(() => open.close());

  await signer.kill();
  await appendEntries(open, 21);
  const write503 = async () => (await write(reader)).status === 503;
  await until(write503, { what: 'the refusal of writes', timeoutMs: 60_000 });
  t.is((await putPart(api, sessionId, 1, bytesOf(10))).status, 200);
  for (let round = 0; round < 10; round += 1) {
    for (const { status, headers, body } of [
      await write(api),
      await api.send('POST', '/v1/uploads', { json: fileOf(10) }),
      await complete(api, sessionId),
      await abort(api, sessionId),
      await createDocument(api, fileKey),
      await certify(api, id),
      await api.send('DELETE', `/v1/documents/${id}`),
    ]) {
      t.is(status, 503);
      t.is(body.code, 'audit_backlog_full');
      t.regex(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    }
  }
  for (const path of [
    '/v1/documents',
    `/v1/documents/${id}`,
    `/v1/documents/${id}/hash`,
    `/v1/uploads/${sessionId}`,
    '/v1/uploads/config',
    '/v1/audit/keys',
  ]) {
    t.is((await api.send('GET', path)).status, 200, path);
  }

  await signer.start();
  await until(async () => (await write(reader)).status !== 503, {
    what: 'the refusals to end',
    timeoutMs: 60_000,
  });
  t.is((await complete(api, sessionId)).status, 200);
});

test('above the limit of one owner’s entries only that owner is refused', async (t) => {
  const { vault, signer, stop } = await startVaultWithSigner({ AUDIT_OWNER_BACKLOG_LIMIT: '20' });
  t.teardown(stop);
  const [busy, target, other] = [
    await createApi(vault),
    await createApi(vault),
    await createApi(vault),
  ];
  await signer.kill();
  const strangers = await openTrail(vault, target.caller);
  t.teardown(() => strangers.close());
  await strangers.db.asService(async (tx) => {
    for (let i = 0; i < 40; i += 1) {
      const action = 'auth.login_failed';
      await strangers.trail.append(tx, eventOf(target.caller, randomUUID(), { action }));
    }
  });
  const open = await openTrail(vault, busy.caller);
  t.teardown(() => open.close());
  await appendEntries(open, 21);
  const refused = await until(
    async () => {
      const answer = await write(busy);
      return answer.status === 503 && answer;
    },
    { what: 'the refusal of writes', timeoutMs: 60_000 },
  );
  t.is(refused.body.code, 'audit_backlog_full');
  t.regex(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  t.is((await busy.send('POST', '/v1/uploads', { json: fileOf(10) })).status, 503);
  t.is((await busy.send('GET', '/v1/documents')).status, 200);
  t.is((await write(other)).status, 201);
  t.is((await write(target)).status, 201, 'what strangers cause does not count');

  await signer.start();
  await until(async () => (await write(busy)).status !== 503, {
    what: 'the refusals to end',
    timeoutMs: 60_000,
  });
});

test('the backlog limit holds although the signer is available', async (t) => {
  const vault = await startReadyVault({ AUDIT_BACKLOG_LIMIT: '20' });
  t.teardown(() => vault.stop());
  const api = await createApi(vault);
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  // Other, slow sealers have claimed these entries: this vault's sealer finds none to sign.
  await open.db.asService(async (tx) => {
    await appendEntries({ ...open, db: { ...open.db, asUser: (_owner, work) => work(tx) } }, 21);
    await tx
      .updateTable('audit_queue')
      .set({ claimed_until: new Date(Date.now() + 3_600_000) })
      .execute();
  });
  await until(async () => (await write(api)).status === 503, {
    what: 'the refusal of writes',
    timeoutMs: 60_000,
  });
  t.is((await write(api)).body.code, 'audit_backlog_full');
});
