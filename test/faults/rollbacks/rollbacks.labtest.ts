import test from 'ava';
import * as fc from 'fast-check';
import { addVersion } from '../../../client/documents/add-version.ts';
import { changeMetadata } from '../../../client/documents/change-metadata.ts';
import { openDocument, openVersion } from '../../../client/documents/open-document.ts';
import { searchDocuments } from '../../../client/documents/search-documents.ts';
import { ClientError } from '../../../client/errors/client-error.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import type { VaultSession } from '../../../client/session.ts';
import { gather } from '../../support/client/collect.ts';
import { createTestMemory } from '../../support/client/memory-store.ts';
import { sourceOf, storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';
import { rounds, seed } from '../../support/runs/rounds.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { choices, createRecordedVault } from './recorded-vault.ts';

const numRuns = rounds * 1_000;

/** Readings by their names, each of all that somebody vouches for. */
type Readings = Readonly<Record<string, () => Promise<unknown>>>;

function readingsOf(session: VaultSession, ids: readonly string[], shares: readonly string[]) {
  const tools = toolsOf(session);
  const open = () => session.envelopes.openMasterKeys();
  let keys: Awaited<ReturnType<typeof open>> | undefined;
  const owned = async (id: string) => ({ id, ...(keys ??= await open()) });
  const readings: Record<string, () => Promise<unknown>> = { keys: open };
  for (const [index, id] of ids.entries()) {
    readings[`document ${index}`] = async () => {
      const { metadata, place, fileHash, documentKey } = await openDocument(tools, await owned(id));
      return { metadata, place, fileHash, documentKey };
    };
    readings[`version 1 of ${index}`] = async () => {
      const { metadata, place, versionKey } = await openVersion(tools, {
        ...(await owned(id)),
        version: 1,
      });
      return { metadata, place, versionKey };
    };
  }
  readings['search'] = async () => {
    const { id: _, ...all } = await owned('');
    const found = await gather(searchDocuments(tools, { ...all, any: ['red'] }));
    return found.map(({ id, metadata }) => ({ id, metadata }));
  };
  for (const [index, id] of shares.entries()) {
    readings[`share ${index}`] = async () => {
      const { metadata, place, fileKey, sharerFingerprint } = await session.openShared(id);
      return { metadata, place, fileKey, sharerFingerprint };
    };
  }
  return readings satisfies Readings;
}

test('no mixture of what a vault once answered is believed', async (t) => {
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const recorded = createRecordedVault();
  const retry = { ...defaultRetry, attempts: 1 };
  const client = connect(vault, recorded.fetch, { retry });
  const user = await createUser(vault, client);
  const friend = await createUser(vault);
  const { email, password } = user.credentials;
  const memory = createTestMemory();
  const logIn = () => client.login({ email, password, memory });
  let session = await logIn();
  const ids: string[] = [];
  const shares: string[] = [];
  const { fingerprint } = await friend.session.enableSharing();

  async function lookAround(): Promise<void> {
    for (const read of Object.values(readingsOf(session, ids, shares))) await read();
  }
  async function storeAll(): Promise<void> {
    for (const keywords of [['red'], ['red', 'blue'], ['blue']]) {
      const { masterKey } = await session.envelopes.openMasterKeys();
      const { document } = await storeBytes({ ...user, session, masterKey }, 10, { keywords });
      ids.push(document.id);
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
  async function change(): Promise<void> {
    for (const id of ids) {
      const keys = await session.envelopes.openMasterKeys();
      await addVersion(toolsOf(session), { id, ...keys, source: sourceOf(new Uint8Array(30)) });
      await lookAround();
      await changeMetadata(toolsOf(session), { id, ...keys, name: `changed ${Math.random()}` });
      await lookAround();
    }
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

  const readings = readingsOf(session, ids, shares);
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
        count('the truth');
        return isTrue(shown, truth.get(name));
      } catch (error) {
        if (!(error instanceof ClientError)) throw error;
        count(error.code);
        return true;
      }
    },
  );
  await t.notThrowsAsync(fc.assert(believed, { numRuns, seed, endOnFailure: false }));
  t.log(Array.from(outcomes, ([code, times]) => `${code} ${times}`).join(', '));
  t.true((outcomes.get('rolled_back') ?? 0) > 0);
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
