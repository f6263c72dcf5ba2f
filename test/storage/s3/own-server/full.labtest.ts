import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { until } from '../../../../app/dev/processes/until.ts';
import {
  bytesOf,
  complete,
  fileOf,
  openSession,
  putPart,
} from '../../../support/documents/files.ts';
import { storeDocument } from '../../../support/documents/documents.ts';
import { createApi } from '../../../support/documents/uploads.ts';
import { getJson } from '../../../support/http/send.ts';
import { serviceRequest } from '../../../support/http/service-request.ts';
import { startS3Lab } from '../../../support/processes/s3-lab.ts';
import { startReadyVault } from '../../../support/vault/vault.ts';

const MiB = 2 ** 20;

/** Fills the file system of a server. Resolves with the function that gives the space back. */
async function fill(directory: string): Promise<() => Promise<void>> {
  const path = join(directory, 'filler');
  const file = await open(path, 'w');
  try {
    for (;;) await file.write(Buffer.alloc(4_096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
  return () => rm(path);
}

test('a full S3 server is told to users and operators until it has room', async (t) => {
  t.timeout(300_000);
  await using lab = await startS3Lab({ size: '64m' });
  const vault = await startReadyVault(lab.settings);
  t.teardown(() => vault.stop());
  const api = await createApi(vault);
  await storeDocument(t, api);
  const [empty, filled] = [await openSession(t, api, MiB), await openSession(t, api, 9)];
  t.is((await putPart(api, filled, 1, bytesOf(9))).status, 200);
  const storage = async () => {
    const { body } = await getJson(`${vault.baseUrl}/health`);
    const { checks } = body as { checks: { storage: { status: string; error?: string } } };
    return checks.storage.error ?? checks.storage.status;
  };
  const untilStorage = (state: string) =>
    until(async () => (await storage()) === state, { what: state, timeoutMs: 60_000 });
  const alerts = async () => {
    const list = await vault.services.dlq.alerts(serviceRequest({ internalKey: 'test' }));
    return list.map(({ code }) => code);
  };
  await untilStorage('ok');

  const empties = await fill(lab.directory);
  for (const answer of [await putPart(api, empty, 1, bytesOf(MiB)), await complete(api, filled)]) {
    t.is(answer.status, 503);
    t.is(answer.body['code'], 'storage_full');
  }
  await untilStorage('full');
  t.true((await alerts()).includes('storage_full'));

  await empties();
  t.is((await putPart(api, empty, 1, bytesOf(MiB))).status, 200);
  for (const session of [empty, filled]) t.is((await complete(api, session)).status, 200);
  t.is((await api.send('POST', '/v1/uploads', { json: fileOf(10) })).status, 201);
  await untilStorage('ok');
  t.false((await alerts()).includes('storage_full'));
});
