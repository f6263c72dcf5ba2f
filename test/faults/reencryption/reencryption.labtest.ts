import test, { type ExecutionContext } from 'ava';
import type { Client } from 'pg';
import { until } from '../../../app/dev/processes/until.ts';
import { startOwnKeysVault, type KeysVault } from '../../signing-keys/keys-vault.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { createAccount, logIn, type TestAccount } from '../../support/accounts/test-account.ts';
import { startReplica, type Replica } from '../../support/documents/replica.ts';
import { createSignerCipher } from '../../support/encryption/signer-cipher.ts';
import { send, type JsonAnswer } from '../../support/http/send.ts';
import { numberFrom, rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { findDamaged, insertAccounts } from './accounts.ts';

const accounts = numberFrom('ACCOUNTS', 2_000);
const people = 4;
const random = seededRandom(seed);

test('a killed re-encryption continues, and no login fails meanwhile', async (t) => {
  t.timeout(120_000 + rounds * (120_000 + accounts * 10));
  t.log(`SEED=${seed} ROUNDS=${rounds} ACCOUNTS=${accounts}`);
  const keys = await startOwnKeysVault(t);
  const { socketPath } = keys.vault.config.signer;
  const admin = await connectAs(keys.vault.databases.admin);
  t.teardown(() => admin.end());
  await insertAccounts(admin, await createSignerCipher(socketPath), accounts);
  const users = [];
  for (let made = 0; made < people; made += 1) users.push(await createAccount(keys.vault));

  const load = logInSteadily(keys, users);
  for (let round = 0; round < rounds; round += 1) {
    await renewGeneration(keys, admin);
    await killReencryption(t, keys, admin);
    await finish(t, keys, admin);
    t.deepEqual(await findDamaged(admin, await createSignerCipher(socketPath)), []);
  }
  const { done, failures } = await load.stop();
  t.log(`${done} logins`);
  t.true(done > 0);
  t.deepEqual(failures, []);
});

/** Logs users in one after the other, and counts the logins that failed. */
function logInSteadily({ vault }: KeysVault, users: readonly TestAccount[]) {
  const stopping = new AbortController();
  const failures: string[] = [];
  let done = 0;
  const running = Promise.all(
    users.map(async (user) => {
      while (!stopping.signal.aborted) {
        await logIn(vault, user).catch((error: unknown) => failures.push(String(error)));
        done += 1;
      }
    }),
  );
  return {
    async stop() {
      stopping.abort();
      await running;
      return { done, failures };
    },
  };
}

/** Creates a generation, and waits until the processes encrypt with it. */
async function renewGeneration(keys: KeysVault, admin: Client): Promise<void> {
  const { status, text } = await post(keys, keys.vault.baseUrl, 'encryption-keys');
  if (status !== 201) throw new Error(`the new generation got ${status}: ${text}`);
  const newest = await newestGeneration(admin);
  const { cipher } = keys.vault.services;
  await until(() => cipher.currentGeneration() === newest, {
    what: 'the new generation to be used',
    timeoutMs: 60_000,
  });
}

/** Begins to re-encrypt in another process, and kills that process on the way. */
async function killReencryption(
  t: ExecutionContext,
  keys: KeysVault,
  admin: Client,
): Promise<void> {
  const other = await startOther(keys);
  const cutOff = Promise.allSettled([post(keys, other.baseUrl, 'maintenance/reencrypt')]);
  const killAt = Math.floor(random() * accounts * 2 * 0.9);
  await until(async () => accounts * 2 - (await countStale(admin)) >= killAt, {
    what: 'the re-encryption to be in the middle',
    timeoutMs: 60_000 + accounts * 10,
    intervalMs: 5,
  });
  other.process.kill('SIGKILL');
  await other.process.exited;
  await cutOff;
  t.log(`killed with ${await countStale(admin)} of ${accounts * 2} rows left`);
}

/** Re-encrypts the rest; the lock of the killed process ends within 15 s. */
async function finish(t: ExecutionContext, keys: KeysVault, admin: Client): Promise<void> {
  const other = await startOther(keys);
  const isFinished = async () => {
    // fetch waits five minutes for a response; a run of many accounts may take longer.
    const answer = await post(keys, other.baseUrl, 'maintenance/reencrypt').catch(() => undefined);
    const { status = 409, text = '' } = answer ?? {};
    if (status !== 200 && status !== 409) throw new Error(`re-encryption got ${status}: ${text}`);
    return (await countStale(admin)) === 0;
  };
  await until(isFinished, {
    what: 'everything to be encrypted again',
    timeoutMs: 90_000 + accounts * 10,
    intervalMs: 1_000,
  });
  await other.process.stop();
  t.is(await countStale(admin), 0);
}

function startOther({ vault, settings }: KeysVault): Promise<Replica> {
  return startReplica(vault, settings);
}

function post({ internalKey }: KeysVault, baseUrl: string, path: string): Promise<JsonAnswer> {
  const headers = { 'X-Internal-Api-Key': internalKey };
  return send('POST', `${baseUrl}/v1/internal/${path}`, { headers });
}

async function newestGeneration(admin: Client): Promise<number> {
  const { rows } = await admin.query<{ readonly newest: number }>(
    'select max(generation) as newest from encryption_keys',
  );
  return rows[0]?.newest ?? 0;
}

/** Counts the rows that are not encrypted with the newest generation. */
async function countStale(admin: Client): Promise<number> {
  const { rows } = await admin.query<{ readonly count: number }>(
    `with newest as (select max(generation) as generation from encryption_keys)
     select (select count(*)::int from credentials, newest where key_generation < generation)
       + (select count(*)::int from key_envelopes, newest where key_generation < generation)
       as count`,
  );
  return rows[0]?.count ?? 0;
}
