import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { testStack } from '../../support/vault/stack.ts';
import { assertNoViolation, assertProofsVerify, query, untilSealed } from '../audit/audit-check.ts';
import { listStore } from '../../uploads/cleanup/listed-store.ts';
import { readMails } from '../../support/accounts/mailbox.ts';
import { registerSteadily } from '../vault/registrations.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { certifyRest, storeSteadily } from '../vault/steady-work.ts';
import { createAccount, logIn, type Account } from '../vault/user.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';

/** A file of a single part, and one of several concurrent parts. */
const fileSizes = [100_000, 40 * 2 ** 20];
/** Longer than the lease of an e-mail that a killed app was sending. */
const mailLimitMs = 90_000;
const random = seededRandom(seed);

test('a killed app keeps all it acknowledged, exactly once, with no work half done', async (t) => {
  t.timeout(60_000 + rounds * 360_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  await using vault = await startVaultProcesses(testStack());
  const accounts = await Promise.all(fileSizes.map(() => createAccount(vault)));
  for (let round = 0; round < rounds; round++) await killApp(t, vault, accounts);
});

async function killApp(t: ExecutionContext, vault: VaultProcesses, accounts: Account[]) {
  const failures: string[] = [];
  let isReady = true;
  /** Records responses that a ready server must not send. */
  const watchedFetch: typeof fetch = async (input, init) => {
    const countsNow = isReady;
    const answer = await fetch(input, init);
    if (countsNow && answer.status >= 500) failures.push(`${answer.status} ${answer.url}`);
    return answer;
  };

  const options = { fetch: watchedFetch };
  const users = await Promise.all(accounts.map((account) => logIn(vault, account, options)));
  const stop = new AbortController();
  const work = users.map((user, index) =>
    storeSteadily(user, {
      fileBytes: fileSizes[index] ?? 0,
      seed: Math.floor(random() * 2 ** 31),
      stop: stop.signal,
    }),
  );
  const registering = registerSteadily(watchedFetch, vault.baseUrl, stop.signal);

  await delay(300 + 2_000 * random());
  isReady = false;
  await vault.app.kill();
  await vault.app.start();
  isReady = true;
  await delay(1_000);
  stop.abort();
  const registered = await registering;
  await Promise.all(work);
  await Promise.all(users.map(certifyRest));

  t.deepEqual(failures, []);
  const entries = await untilSealed(vault);
  await assertNoViolation(t, vault);
  await assertProofsVerify(t, vault);
  const documents = await assertDocuments(t, vault);
  await assertMails(t, vault, registered);
  t.log(`${documents} documents, ${registered.length} registrations, ${entries} entries so far`);
}

/**
 * Asserts that each completed upload became one sealed document with an intact object, that every
 * upload with parts was resumed, and that the store has no other objects.
 */
async function assertDocuments(t: ExecutionContext, vault: VaultProcesses): Promise<number> {
  const astray = await query(
    vault,
    `select s.id from upload_sessions s
     left join document_versions d on d.storage_key = s.storage_key
     where (s.status = 'COMPLETED' or exists (select from upload_parts where session_id = s.id))
     and d.status is distinct from 'SEALED'`,
  );
  t.deepEqual(astray, [], 'every upload that was begun was resumed and sealed');

  const documents = await query<{
    readonly key: string;
    readonly version: string;
    readonly hash: string;
  }>(
    vault,
    `select storage_key as key, object_version as version, file_hash as hash
     from document_versions`,
  );
  const store = await createObjectStore({ driver: 'filesystem', directory: vault.objectDirectory });
  for (const { key, version, hash } of documents) {
    const sha3 = createHash('sha3-256');
    const { body } = await store.get(key, { ifVersion: version });
    for await (const chunk of body) sha3.update(chunk as Buffer);
    t.is(sha3.digest('hex'), hash);
  }
  const keys = new Set(documents.map(({ key }) => key));
  const { objects } = await listStore(store);
  for (const key of objects) t.true(keys.has(key), `${key} belongs to a document`);
  await store.close();
  return documents.length;
}

async function assertMails(
  t: ExecutionContext,
  { mailDirectory }: VaultProcesses,
  registered: readonly string[],
): Promise<void> {
  const missing = async () => {
    const delivered = new Set((await readMails(mailDirectory)).map(({ to }) => to));
    return registered.filter((email) => !delivered.has(email));
  };
  await until(async () => (await missing()).length === 0, {
    what: 'the e-mail of each registration',
    timeoutMs: mailLimitMs,
    intervalMs: 500,
  });
  t.pass();
}
