import test from 'ava';
import { boundedAnswers } from '../../support/bounds/bounded-answers.ts';
import { insertGreatestRows } from '../../support/bounds/greatest-rows.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { MiB } from '../../support/documents/files.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { peakMemoryBytes, resetPeakMemory } from '../../support/processes/process-figures.ts';
import { createDevice } from '../../support/sync/devices.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault } from '../../support/vault/vault.ts';

const atOnce = 20;
/** Rows of each list: more than a page takes. */
const count = 1001;
/** The most memory that the app may use, in MiB, whichever list is asked for. */
const ceilingMiB = 600;

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('twenty requests at once for the greatest page of a list stay in memory', async (t) => {
  t.timeout(900_000);
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const device = await createDevice(vault);
  const { caller } = device.api;
  const scopes = ['documents:read', 'uploads:write', 'keys:manage', 'audit:read', 'sync:read'];
  const as = { ...caller, roles: ['user', 'operator'], scopes: [...scopes, 'jobs:submit'] };
  const { token } = await createApi(vault, as);
  const registered = await vault.services.registry.list();
  const { keyId = '' } = registered.find(({ purpose }) => purpose === 'audit') ?? {};
  const rows = await insertGreatestRows(createSql(vault), caller, { count, keyId });
  const replica = await startReplica(vault);
  t.teardown(() => replica.process.stop());
  const { pid } = replica.process;

  for (const [name, ask] of Object.entries(boundedAnswers)) {
    const { path, json, isLong } = ask(rows);
    if (isLong !== true) continue;
    resetPeakMemory(pid);
    const statuses = await Promise.all(
      Array.from({ length: atOnce }, async () => {
        const response = await fetch(replica.baseUrl + path, {
          method: name.split(' ')[0] ?? '',
          headers: {
            authorization: `Bearer ${token}`,
            'x-device-id': device.deviceId,
            ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          },
          body: json === undefined ? null : JSON.stringify(json),
        });
        await response.arrayBuffer();
        return response.status;
      }),
    );
    const peakMiB = Math.round(peakMemoryBytes(pid) / MiB);
    t.log(`${name}: ${peakMiB} MiB`);
    // A slow machine may refuse some of so many requests of one user as busy.
    const others = statuses.filter((status) => status !== 200 && status !== 503);
    t.deepEqual(others, [], name);
    t.true(statuses.includes(200), name);
    t.true(peakMiB < ceilingMiB, `${name}: ${peakMiB} MiB`);
  }
});
