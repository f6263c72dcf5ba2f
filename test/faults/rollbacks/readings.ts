import { openDocument, openVersion } from '../../../client/documents/open-document.ts';
import { searchDocuments } from '../../../client/documents/search-documents.ts';
import { downloadDocument } from '../../../client/downloads/download.ts';
import { createIdentities } from '../../../client/identity/identities.ts';
import { fingerprintOf } from '../../../client/identity/identity.ts';
import type { createDeviceKey } from '../../../client/keys/device-key.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createReadNames } from '../../../client/sessions/account-names.ts';
import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import { collect, gather } from '../../support/client/collect.ts';
import { toolsOf } from '../../support/client/stored.ts';

/** Readings by their names, each of all that somebody vouches for. */
export type Readings = Readonly<Record<string, () => Promise<unknown>>>;

export interface Recorded {
  /** Ids of the user's documents. */
  readonly documents: readonly string[];
  /** Ids of those whose current version is sealed. */
  readonly sealed: readonly string[];
  /** Ids of shares that the user received. */
  readonly shares: readonly string[];
  readonly device: ReturnType<typeof createDeviceKey>;
}

/** Returns the readings of a session that is bound to the device. */
export function readingsOf(
  session: VaultSession,
  { documents, sealed, shares, device }: Recorded,
): Readings {
  const tools = toolsOf(session);
  const open = () => session.envelopes.openMasterKeys();
  let keys: Awaited<ReturnType<typeof open>> | undefined;
  const owned = async (id: string) => ({ id, ...(keys ??= await open()) });
  const readings: Record<string, () => Promise<unknown>> = {
    keys: open,
    'device keys': () => session.envelopes.openMasterKeysWithDevice(device),
    identity: () => openIdentity(session),
    devices: async () => {
      await session.memory.exchange();
      return (await session.memory.devices()).toSorted();
    },
    objects: async () => {
      const { id: _, ...all } = await owned('');
      const store = createInMemoryStore();
      const { deviceId } = device;
      const sync = await session.sync({ ...all, deviceId, schemaVersion: 1, store });
      await sync.sync();
      return Promise.all(
        sync.list().map(async (objectId) => ({ objectId, data: (await sync.get(objectId))?.data })),
      );
    },
    search: async () => {
      const { id: _, ...all } = await owned('');
      const found = await gather(searchDocuments(tools, { ...all, any: ['red'] }));
      return found.map(({ id, metadata }) => ({ id, metadata }));
    },
  };
  for (const [index, id] of documents.entries()) {
    readings[`document ${index}`] = async () => {
      const { metadata, place, fileHash, documentKey } = await openDocument(tools, await owned(id));
      return { metadata, place, fileHash, documentKey };
    };
    readings[`version 1 of ${index}`] = async () => {
      const first = { ...(await owned(id)), version: 1 };
      const { metadata, place, versionKey } = await openVersion(tools, first);
      return { metadata, place, versionKey };
    };
    readings[`file of ${index}`] = async () =>
      collect(downloadDocument(tools, await owned(id))).then((bytes) => new Uint8Array(bytes));
  }
  for (const [index, id] of sealed.entries()) {
    readings[`seal ${index}`] = async () => {
      const { version, proof, author } = await session.certifyDocument(id);
      return { version, proof, author };
    };
  }
  for (const [index, id] of shares.entries()) {
    readings[`share ${index}`] = async () => {
      const { metadata, place, fileKey, sharerFingerprint } = await session.openShared(id);
      return { metadata, place, fileKey, sharerFingerprint };
    };
  }
  return readings;
}

async function openIdentity(session: VaultSession): Promise<string> {
  const { http, envelopes } = session;
  const openKeyring = () => envelopes.openKeyring();
  const readNames = createReadNames(session);
  return fingerprintOf(await createIdentities({ http, openKeyring, readNames }).open());
}
