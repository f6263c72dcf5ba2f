import test from 'ava';
import * as fc from 'fast-check';
import { addVersion } from '../../../client/documents/add-version.ts';
import { changeMetadata } from '../../../client/documents/change-metadata.ts';
import { ClientError } from '../../../client/errors/client-error.ts';
import { VaultError } from '../../../client/errors/vault-error.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { createDeviceKey } from '../../../client/keys/device-key.ts';
import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import { createTestMemory } from '../../support/client/memory-store.ts';
import { sourceOf, storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';
import { rounds, seed } from '../../support/runs/rounds.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { choices } from './choices.ts';
import { readingsOf } from './readings.ts';
import { createRecordedVault } from './recorded-vault.ts';

const numRuns = rounds * 1_000;

/** Records what a vault answers a user while it goes through changes and a rekey. */
async function record(vault: TestVault) {
  const recorded = createRecordedVault();
  const retry = { ...defaultRetry, attempts: 1 };
  const client = connect(vault, recorded.fetch, { retry });
  const user = await createUser(vault, client);
  const friend = await createUser(vault);
  const { email, password } = user.credentials;
  const memory = createTestMemory();
  const device = createDeviceKey();
  const { deviceId } = device;
  await user.session.devices.add({ ...device, name: 'Laptop', platform: 'Firefox' });
  const logIn = () => client.login({ email, password, memory, deviceId });
  let session = await logIn();
  const store = createInMemoryStore();
  const documents: string[] = [];
  const sealed: string[] = [];
  const shares: string[] = [];
  const { fingerprint } = await friend.session.enableSharing();
  const readings = () => readingsOf(session, { documents, sealed, shares, device });

  async function lookAround(): Promise<void> {
    for (const read of Object.values(readings())) await read();
  }
  async function storeAll(): Promise<void> {
    for (const keywords of [['red'], ['red', 'blue'], ['blue']]) {
      const { masterKey } = await session.envelopes.openMasterKeys();
      const { document } = await storeBytes({ ...user, session, masterKey }, 10, { keywords });
      documents.push(document.id);
      const shared = await storeBytes(friend, 10, { name: 'shared' });
      const expected = await session.enableSharing();
      const share = await friend.session.shareDocument(shared.document.id, email, expected);
      await session.openShared(share.id, { sharer: fingerprint });
      shares.push(share.id);
      await addVersion(toolsOf(friend.session), {
        id: shared.document.id,
        masterKey: friend.masterKey,
        source: sourceOf(new Uint8Array(20)),
      });
    }
  }
  /** Seals each second document, and changes all of them before and after. */
  async function change(): Promise<void> {
    for (const [index, id] of documents.entries()) {
      const keys = await session.envelopes.openMasterKeys();
      if (index % 2 === 0) await session.certifyDocument(id);
      await addVersion(toolsOf(session), { id, ...keys, source: sourceOf(new Uint8Array(30)) });
      await lookAround();
      await changeMetadata(toolsOf(session), { id, ...keys, name: `changed ${index}` });
      await changeObjects(index);
      await lookAround();
    }
  }
  async function changeObjects(round: number): Promise<void> {
    const keys = await session.envelopes.openMasterKeys();
    const sync = await session.sync({ ...keys, deviceId, schemaVersion: 1, store });
    await sync.create({ data: { a: `made ${round}`, b: { c: 1 } } });
    for (const objectId of sync.list()) {
      await sync.change(objectId, (data) => ({ ...data, a: `changed ${round}` }));
    }
    await sync.sync();
  }

  await storeAll();
  await lookAround();
  await change();
  const draft = await session.draftRekey({ password, keepPassword: true });
  await draft.confirm(draft.words);
  session = await logIn();
  await lookAround();
  await storeAll();
  await change();
  for (const [index, id] of documents.entries()) {
    if (index % 2 === 0) continue;
    await session.certifyDocument(id);
    sealed.push(id);
  }
  await lookAround();
  return { recorded, readings: readings() };
}

test('no mixture of what a vault once answered is believed', async (t) => {
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const { recorded, readings } = await record(vault);
  const truth = new Map<string, unknown>();
  for (const [name, read] of Object.entries(readings)) truth.set(name, await read());
  t.log(recorded.counts().join(', '));
  const outcomes = new Map<string, number>();
  const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const believed = fc.asyncProperty(
    fc.constantFrom(...Object.keys(readings)),
    choices,
    async (name, choice) => {
      recorded.answer(choice);
      try {
        const shown = await readings[name]?.();
        count(`the truth of ${name.replace(/ \d+$/, '')}`);
        return isTrue(shown, truth.get(name));
      } catch (error) {
        if (!(error instanceof ClientError) && !(error instanceof VaultError)) throw error;
        count(error.code);
        return true;
      }
    },
  );
  await t.notThrowsAsync(fc.assert(believed, { numRuns, seed, endOnFailure: false }));
  t.log(Array.from(outcomes, ([code, times]) => `${code} ${times}`).join(', '));
  for (const code of ['rolled_back', 'seal_invalid', 'file_hash_mismatch']) {
    t.true((outcomes.get(code) ?? 0) > 0, code);
  }
});

/** A list may lack elements: what is left out of a search is not noticed. */
function isTrue(shown: unknown, truth: unknown): boolean {
  if (!Array.isArray(truth)) return text(shown) === text(truth);
  const true_ = new Set(truth.map(text));
  return (shown as unknown[]).every((each) => true_.has(text(each)));
}

function text(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    member instanceof Uint8Array ? Buffer.from(member).toString('hex') : member,
  );
}
