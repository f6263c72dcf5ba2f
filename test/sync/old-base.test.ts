import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openDatabase } from '../../app/db/database.ts';
import { findTouched } from '../../app/sync/objects/history.ts';
import { placesOf } from '../../app/sync/merge/merge.ts';
import { startVault } from '../support/vault/vault.ts';
import { change, createDevice, createObject } from '../support/sync/devices.ts';

test('a write with an old base reads only the history of the fields that it changes', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const device = await createDevice(vault);
  const objectId = await createObject(device, { kept: 0, text: 'a' });
  for (let base = 1; base <= 5; base += 1) {
    const names = Array.from({ length: 100 }, (_, n) => [`field-${base}-${n}`, n] as const);
    const delta = { ...Object.fromEntries(names), kept: base };
    t.is((await device.write(change(objectId, base, delta))).status, 200);
  }
  const { app: url, service: serviceUrl } = vault.databases;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  const { caller } = device.api;
  const touchedBy = (delta: Record<string, unknown> | null, data: Record<string, unknown>) =>
    db.asUser(caller, (tx) =>
      findTouched(tx, caller, objectId, { baseVersion: 1, places: placesOf(data, delta) }),
    );
  const data = { kept: 5, text: 'a', 'field-1-0': 0 };
  t.deepEqual([...(await touchedBy({ text: 'b', kept: 1 }, data)).keys()], ['/kept']);
  t.deepEqual([...(await touchedBy({ kept: { below: 1 } }, data)).keys()], ['/kept']);
  t.deepEqual([...(await touchedBy(null, data)).keys()].toSorted(), ['/field-1-0', '/kept']);
  t.deepEqual([...(await touchedBy({ [randomUUID()]: 1 }, data)).keys()], []);
});
