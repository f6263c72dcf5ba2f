import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import type { Sync } from '../../../client/sync/sync.ts';
import { createUser, openDevice, type User } from '../../client/sync/devices.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';

export type Leaves = Record<string, unknown>;
/** The body of a response: an object as the vault shows it, or a page of the changes. */
export interface View {
  readonly objects: readonly unknown[];
  readonly version: number;
  readonly data: Leaves & { readonly $devices: Readonly<Record<string, unknown>> };
  readonly lastModifiedAt: string;
}
export type Lie = (body: View) => unknown;

export interface Reader {
  readonly sync: Sync;
  /** Changes all later responses to requests whose method and path match. */
  lie(request: RegExp, lie: Lie): void;
}

export interface Scene {
  readonly user: User;
  readonly alice: Sync;
  readonly names: { readonly alice: string; readonly bob: string };
  /** An object that both devices wrote, and its versions as the vault showed them. */
  readonly id: string;
  readonly versions: readonly View[];
}

export const oneObject = /^GET \/v1\/sync\/[^/]+$/;

/** Sets up an object that two devices of a user wrote in turns. */
export async function createScene(): Promise<Scene> {
  const user = createUser();
  const alice = await openDevice(sharedVault(), user);
  const bob = await openDevice(sharedVault(), user);
  const versions: View[] = [];
  const look = async () => (await alice.raw.get(`/v1/sync/${id}`)).body as unknown as View;
  const id = await alice.sync.create({ data: { a: 'first', b: 'first', gone: 1 } });
  await alice.sync.sync();
  versions.push(await look());
  for (const [who, fields] of [
    [bob, { a: 'second' }],
    [alice, { b: 'third', gone: undefined }],
    [bob, { a: 'fourth', c: 'fourth' }],
  ] as const) {
    await who.sync.sync();
    await who.sync.change(id, (data) => JSON.parse(JSON.stringify({ ...data, ...fields })));
    await who.sync.sync();
    versions.push(await look());
  }
  await alice.sync.sync();
  const names = { alice: alice.raw.deviceId, bob: bob.raw.deviceId };
  return { user, alice: alice.sync, names, id, versions };
}

/** Opens a device whose vault lies as it is told to. */
export async function openReader(user: User): Promise<Reader> {
  const lies: { readonly request: RegExp; readonly lie: Lie }[] = [];
  const lying: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const told = lies.filter(({ request }) => request.test(`${init?.method} ${pathname}`));
    if (told.length === 0) return response;
    const body = (await response.json()) as View;
    const { headers } = response;
    const lied = told.reduce<unknown>((shown, { lie }) => lie(shown as View), body);
    const status = (lied as { readonly statusCode?: number }).statusCode ?? 200;
    return Response.json(lied, { status, headers: { date: headers.get('date') ?? '' } });
  };
  const { sync } = await openDevice(sharedVault(), user, {
    fetch: lying,
    store: createInMemoryStore(),
  });
  return { sync, lie: (request, lie) => void lies.push({ request, lie }) };
}

export function versionOf({ versions }: Scene, version: number): View {
  const found = versions[version - 1];
  if (found === undefined) throw new RangeError(`There is no version ${version}.`);
  return structuredClone(found);
}
