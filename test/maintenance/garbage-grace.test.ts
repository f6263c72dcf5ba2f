import { randomUUID } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { loadConfig } from '../../app/config/config.ts';
import { createObjectStore } from '../../app/storage/create-store.ts';
import { createLayout, type Layout } from '../../app/storage/filesystem/layout.ts';
import { isThere } from '../support/documents/stored-files.ts';
import { nothing, storeUnknown } from './garbage.ts';
import { productionSettings } from '../support/vault/production.ts';
import { startMaintenanceVault } from '../support/vault/maintenance-vault.ts';

test('an upload opened less than a day ago is no garbage', async (t) => {
  const careful = await startMaintenanceVault();
  t.teardown(() => careful.stop());
  const store = await createObjectStore(careful.vault.config.storage);
  t.teardown(() => store.close());
  const mark = `marks/${randomUUID()}.json`;
  const unknown = [
    await storeUnknown(store, {}),
    await storeUnknown(store, { key: mark }),
    await storeUnknown(store, { completed: true }),
    await storeUnknown(store, { key: `probes/${randomUUID()}` }),
    await storeUnknown(store, { key: `probes/${randomUUID()}`, completed: true }),
  ];
  const kept = await storeUnknown(store, {
    key: mark.replace('marks/', 'marks/0'),
    completed: true,
  });
  const layout = createLayout(careful.vault.storeDirectory);
  const age = (hours: number) =>
    Promise.all([...unknown, kept].map((stored) => ageStored(layout, stored, hours)));
  t.deepEqual(await careful.counts('collect-garbage'), nothing);
  await age(23.9);
  t.deepEqual(await careful.counts('collect-garbage'), nothing);
  await age(24);
  t.deepEqual(await careful.counts('collect-garbage'), {
    ...nothing,
    abortedUploads: 3,
    deletedObjects: 2,
  });
  t.truthy(await store.stat(kept.key), 'an object with a foreign name stays');
});

/** Sets the age of an upload (or object) to so many hours since it was opened (or completed). */
async function ageStored(
  layout: Layout,
  { key, uploadId }: { readonly key: string; readonly uploadId: string },
  hours: number,
): Promise<void> {
  const upload = layout.uploadDirectory(key, uploadId);
  const directory = (await isThere(upload)) ? upload : layout.objectDirectory(key);
  const createdAt = new Date(Date.now() - hours * 3_600_000).toISOString();
  for (const name of await readdir(directory)) {
    if (!name.endsWith('.json')) continue;
    const file = path.join(directory, name);
    const record = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...record, createdAt }));
  }
}

test('in production the grace period must be at least one hour', (t) => {
  const load = (NODE_ENV: string, hours: string) => () =>
    loadConfig({
      ...productionSettings,
      NODE_ENV,
      MAINTENANCE_GARBAGE_GRACE_HOURS: hours,
      DATABASE_URL: 'postgresql://a@db/vault',
      DATABASE_SERVICE_URL: 'postgresql://b@db/vault',
      REDIS_URL: 'redis://cache',
      STORAGE_DIRECTORY: '/objects',
      SIGNER_SOCKET_PATH: '/run/signer.sock',
      MAIL_DIRECTORY: '/mail',
    });
  t.throws(load('production', '0'), { message: /MAINTENANCE_GARBAGE_GRACE_HOURS: must not be 0/ });
  t.is(load('production', '1')().maintenance.garbageGraceHours, 1);
  t.is(load('test', '0')().maintenance.garbageGraceHours, 0);
  for (const hours of ['-1', '1.5', 'jam']) {
    t.throws(load('production', hours), { message: /MAINTENANCE_GARBAGE_GRACE_HOURS: / });
  }
});
