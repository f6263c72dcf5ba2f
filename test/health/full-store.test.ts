import { readdir } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { documentPart, filePart, formOf, sendForm } from '../documents/form-upload/forms.ts';
import { storeDocument } from '../support/documents/documents.ts';
import {
  bytesOf,
  complete,
  fileOf,
  openSession,
  progress,
  putPart,
} from '../support/documents/files.ts';
import { mayMount, mountSmallVolume, type Exhaustion } from '../support/documents/tmpfs.ts';
import { createApi, type Answer } from '../support/documents/uploads.ts';
import { getJson } from '../support/http/send.ts';
import { serviceRequest } from '../support/http/service-request.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

const mounted = mayMount ? test : test.skip;
const partBytes = 100_000;

interface Report {
  readonly status: string;
  readonly checks: { readonly storage: { readonly status: string; readonly error?: string } };
}

async function healthOf({ baseUrl }: TestVault) {
  const { status, body } = await getJson(`${baseUrl}/health`);
  const { status: overall, checks } = body as Report;
  return { status, overall, storage: checks.storage.error ?? checks.storage.status };
}

const untilHealth = (vault: TestVault, storage: string) =>
  until(async () => (await healthOf(vault)).storage === storage, {
    what: `health to find the storage ${storage}`,
    timeoutMs: 60_000,
  });

async function alertsOf({ services }: TestVault): Promise<string[]> {
  const alerts = await services.dlq.alerts(serviceRequest({ internalKey: 'test' }));
  return alerts.map(({ code }) => code).filter((code) => code.startsWith('storage'));
}

function assertFull(t: ExecutionContext, answer: Answer): void {
  t.is(answer.status, 503, JSON.stringify(answer.body));
  t.is(answer.body['code'], 'storage_full');
  t.regex(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
}

const cases: Readonly<Record<Exhaustion, { readonly words: string; readonly alerts: string[] }>> = {
  space: { words: 'space', alerts: ['storage_full', 'storage_low'] },
  inodes: { words: 'inodes', alerts: ['storage_full', 'storage_low'] },
  writing: { words: 'the right to write', alerts: ['storage_full'] },
};

for (const [what, { words, alerts }] of Object.entries(cases)) {
  mounted(`a store without ${words} is told to users and operators until it has it`, async (t) => {
    const volume = await mountSmallVolume(t);
    const vault = await startReadyVault({ STORAGE_DIRECTORY: volume.directory });
    t.teardown(() => vault.stop());
    const sql = createSql(vault);
    const api = await createApi(vault);
    const { id } = await storeDocument(t, api);
    const [empty, filled] = [await openSession(t, api, partBytes), await openSession(t, api, 9)];
    t.is((await putPart(api, filled, 1, bytesOf(9))).status, 200);
    await untilHealth(vault, 'ok');
    t.deepEqual(await alertsOf(vault), []);

    const end = await volume.exhaust(what as Exhaustion);
    assertFull(t, await api.send('POST', '/v1/uploads', { json: fileOf(10) }));
    assertFull(t, await putPart(api, empty, 1, bytesOf(partBytes)));
    assertFull(t, await complete(api, filled));
    const form = formOf(documentPart(), filePart(bytesOf(partBytes)));
    assertFull(t, await sendForm(api, form));
    await untilHealth(vault, 'full');
    t.like(await healthOf(vault), { status: 200, overall: 'degraded' });
    t.deepEqual(await alertsOf(vault), alerts);
    t.is((await getJson(`${vault.baseUrl}/health/ready`)).status, 200);

    // Earlier files are served, and nothing was half done.
    t.is(
      (
        await fetch(`${vault.baseUrl}/v1/documents/${id}/download`, {
          headers: { authorization: `Bearer ${api.token}` },
        })
      ).status,
      200,
    );
    t.like((await progress(api, empty)).body, { status: 'IN_PROGRESS', uploadedParts: 0 });
    t.like((await progress(api, filled)).body, { status: 'IN_PROGRESS', uploadedParts: 1 });
    t.is((await sql('select 1 from upload_sessions')).length, 3);
    // The check of the store may be writing at this moment.
    const scratch = path.join(volume.directory, 'scratch');
    await until(async () => (await readdir(scratch)).length === 0, {
      what: 'an empty directory of unfinished files',
      timeoutMs: 60_000,
    });

    await end();
    t.is((await putPart(api, empty, 1, bytesOf(partBytes))).status, 200);
    for (const session of [empty, filled]) t.is((await complete(api, session)).status, 200);
    t.is((await sendForm(api, form)).status, 201);
    await untilHealth(vault, 'ok');
    t.deepEqual(await alertsOf(vault), []);
  });
}

mounted('little free space raises a warning with the percentage and its threshold', async (t) => {
  const volume = await mountSmallVolume(t);
  const vault = await startReadyVault({
    STORAGE_DIRECTORY: volume.directory,
    STORAGE_ALERT_FREE_PERCENT: '60',
  });
  t.teardown(() => vault.stop());
  const api = await createApi(vault);
  t.deepEqual(await alertsOf(vault), []);
  await storeDocument(t, api, bytesOf(12 * 2 ** 20));
  const alerts = await vault.services.dlq.alerts(serviceRequest({ internalKey: 'test' }));
  const low = alerts.find(({ code }) => code === 'storage_low');
  t.like(low, { severity: 'warning', threshold: 60 });
  t.true(low !== undefined && low.value < 60 && low.value > 30);
});
