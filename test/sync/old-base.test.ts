import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../app/db/database.ts';
import { findChangesSince } from '../../app/sync/objects/changes-since.ts';
import { resolvePatch } from '../../app/sync/merge/edits.ts';
import { placesOf } from '../../app/sync/merge/merge.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import { change, createDevice, createObject, type SyncDevice } from '../support/sync/devices.ts';

type Data = Readonly<Record<string, unknown>>;

/**
 * Returns a function that finds what changed after version 1 of an object among the places of a
 * write: JSON Pointers, and whether a rule that settles every field would count.
 */
async function changesOf(
  t: ExecutionContext,
  { vault, device, objectId }: { vault: Vault; device: SyncDevice; objectId: string },
) {
  const { app: url, service: serviceUrl } = vault.databases;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  const { caller } = device.api;
  const rules = new Map([['*', new Map([['', 'CLIENT_WINS' as const]])]]);
  const object = { objectId, version: 6, objectType: null };
  return (delta: Data | null, data: Data) =>
    db.asUser(caller, async (tx) => {
      const by = { changedAt: new Date(), deviceId: device.deviceId };
      const patch = delta === null ? null : resolvePatch(data, delta);
      const write = { baseVersion: 1, places: placesOf(data, patch), by };
      const { touched, ruleOf } = await findChangesSince(tx, caller, rules, object, write);
      return { touched: [...touched.keys()].toSorted(), hasRule: ruleOf('/kept') !== undefined };
    });
}

/** Changes an object five times: `kept`, and a hundred fields with the given names. */
async function writeFive(
  t: ExecutionContext,
  device: SyncDevice,
  objectId: string,
  nameOf: (base: number, n: number) => string,
): Promise<void> {
  for (let base = 1; base <= 5; base += 1) {
    const fields = Array.from({ length: 100 }, (_, n) => [nameOf(base, n), base] as const);
    const delta = { ...Object.fromEntries(fields), kept: base };
    t.is((await device.write(change(objectId, base, delta))).status, 200);
  }
}

test('a write with an old base reads only the history of the fields that it changes', async (t) => {
  const vault = sharedVault();
  const device = await createDevice(vault);
  const objectId = await createObject(device, { kept: 0, text: 'a' });
  await writeFive(t, device, objectId, (base, n) => `field-${base}-${n}`);
  const changesIn = await changesOf(t, { vault, device, objectId });
  const data = { kept: 5, text: 'a', 'field-1-0': 0 };
  const touchedBy = async (delta: Data | null) => (await changesIn(delta, data)).touched;
  t.deepEqual(await touchedBy({ text: 'b', kept: 1 }), ['/kept']);
  t.deepEqual(await touchedBy({ kept: { below: 1 } }), ['/kept']);
  t.deepEqual(await touchedBy(null), ['/field-1-0', '/kept']);
  t.deepEqual(await touchedBy({ [randomUUID()]: 1 }), []);
  t.true((await changesIn({ kept: 1 }, data)).hasRule);
});

test('a history of over 1 MiB since the base of a write is not searched', async (t) => {
  const vault = sharedVault();
  const device = await createDevice(vault);
  const objectId = await createObject(device, { kept: 0, text: 'a' });
  await writeFive(t, device, objectId, (_base, n) => `${'long'.repeat(600)}-${n}`);
  const changesIn = await changesOf(t, { vault, device, objectId });
  t.deepEqual(await changesIn({ text: 'b' }, { kept: 5, text: 'a' }), {
    touched: ['/text'],
    hasRule: false,
  });
  const answer = await device.write(change(objectId, 1, { text: 'b' }));
  t.like(answer, { status: 409, body: { code: 'sync_conflict', fields: ['/text'] } });
  t.is((await device.write(change(objectId, 6, { text: 'b' }))).status, 200);
});
