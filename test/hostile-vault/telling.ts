import type { ExecutionContext } from 'ava';
import { encodeBase64 } from '../../client/bytes/base64.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import { openDocument } from '../../client/documents/open-document.ts';
import { createIdentities } from '../../client/identity/identities.ts';
import { createReadNames } from '../../client/sessions/account-names.ts';
import { createDeviceKey } from '../../client/keys/device-key.ts';
import type { MasterKeys } from '../../client/keys/master-keys.ts';
import { deriveReportKey } from '../../client/memory/exchange/report-key.ts';
import { sealReport } from '../../client/memory/exchange/report.ts';
import { changesOf, type RememberedChanges } from '../../client/memory/values/remembered.ts';
import { RolledBackError } from '../../client/memory/values/rolled-back-error.ts';
import type { VaultSession } from '../../client/session.ts';
import { createTestMemory } from '../support/client/memory-store.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { logInWith, type Victim } from './liar.ts';

export interface Item {
  readonly writer: string;
  readonly number: number;
  readonly record: string;
}

/** Logs in on a new device of the victim. */
export async function addDevice(victim: Victim) {
  const store = createTestMemory();
  const session = await logInWith(victim, store);
  const key = createDeviceKey();
  await session.devices.add({ ...key, name: 'Laptop', platform: 'Firefox' });
  const { deviceId } = key;
  const { credentials, client } = victim;
  const again = () => client.login({ ...credentials, memory: store, deviceId });
  return { session, deviceId, again };
}

export async function open(session: VaultSession, id: string) {
  const keys = await session.envelopes.openMasterKeys();
  return openDocument(toolsOf(session), { id, ...keys });
}

export const openVersion = async (session: VaultSession, id: string) =>
  (await open(session, id)).version;

export async function addNext(session: VaultSession, id: string): Promise<void> {
  const keys = await session.envelopes.openMasterKeys();
  await addVersion(toolsOf(session), { id, ...keys, source: sourceOf(new Uint8Array(20)) });
}

/** Stores a document of two versions, of which one device has told the second. */
export async function storeTold(victim: Victim) {
  const { document: first } = await storeBytes(victim, 10);
  const { id } = first;
  await addNext(victim.session, id);
  const teller = await addDevice(victim);
  await open(teller.session, id);
  await teller.session.memory.exchange();
  return { id, first, teller };
}

export async function assertRolledBack(t: ExecutionContext, work: Promise<unknown>) {
  const error = await t.throwsAsync(work, { instanceOf: RolledBackError, code: 'rolled_back' });
  return error instanceof RolledBackError ? error : t.fail();
}

/** Tells something in the name of a device, with the keys that somebody has. */
export async function forge(
  { session }: Victim,
  keys: MasterKeys,
  { writer, values }: { readonly writer: string; readonly values: Partial<RememberedChanges> },
): Promise<Item> {
  const { http } = session;
  const openKeyring = () => session.envelopes.openKeyring();
  const readNames = createReadNames(session);
  const [identity] = await createIdentities({ http, openKeyring, readNames }).openAll();
  if (identity === undefined) throw new Error('The victim has no identity.');
  const place = { writer, number: 1 };
  const report = { ...changesOf(values), previous: null, isStart: true, read: {} };
  const record = await sealReport(await deriveReportKey(keys), identity, place, report);
  return { ...place, record: encodeBase64(record) };
}

export async function firstRecord({ session }: Victim): Promise<Item> {
  const { body } = await session.http.send({ method: 'GET', path: '/v1/memory/records' });
  const [item] = body as Item[];
  if (item === undefined) throw new Error('There is no record.');
  return item;
}

export const post = ({ session }: Victim, json: Item) =>
  session.http.send({ method: 'POST', path: '/v1/memory/records', json });
