import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createObjectStore, type StoreConfig } from '../../../app/storage/create-store.ts';
import type { ObjectStore } from '../../../app/storage/interface/object-store.ts';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { runProgram, temporaryDirectory, untilLine } from '../../support/processes/processes.ts';
import { send } from '../../support/http/send.ts';
import { createKeyFile } from '../../support/vault/key-file.ts';
import { testStack } from '../../support/vault/stack.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { assertNoViolation, assertProofsVerify, untilSealed } from '../audit/audit-check.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { startS3Lab, type S3Lab } from '../../support/processes/s3-lab.ts';
import type { UploadProgramOptions } from './upload-program.ts';
import {
  assertNothingElse,
  assertSent,
  assertWhole,
  forgetDead,
  letADayPass,
  untilDone,
} from './check.ts';
import { createBareUpload, storeDocument } from './work.ts';
import { createAccount, logIn, type Account, type User } from '../vault/user.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';

/** Files larger than 16 MiB have two parts. */
const maxFileBytes = 24 * 2 ** 20;
/** Approximate duration of a round's uploads when nothing is killed. */
const workMs = 2_000;
const random = seededRandom(seed);

type Fault = 'app' | 'client' | 'store';

/** The resources of the rounds. */
interface Setup {
  readonly vault: VaultProcesses;
  readonly store: ObjectStore;
  readonly account: Account;
  readonly user: User;
  readonly directory: string;
  readonly lab: S3Lab | undefined;
  maintain(task: string): Promise<Record<string, unknown>>;
}

test('whatever is killed during uploads, files are whole and no remains are left', async (t) => {
  await killDuringUploads(t, undefined);
});

if (process.env['FAULTS_S3'] === 'true') {
  test('whatever is killed, files are whole and no remains are left on S3 either', async (t) => {
    await using lab = await startS3Lab();
    await killDuringUploads(t, lab);
  });
}

async function killDuringUploads(t: ExecutionContext, lab: S3Lab | undefined): Promise<void> {
  t.timeout(120_000 + rounds * 300_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const keys = await createKeyFile();
  t.teardown(() => keys.remove());
  await using vault = await startVaultProcesses(testStack(), {
    settings: {
      NODE_ENV: 'test',
      HTTP_INTERNAL_ROUTES: 'both',
      INTERNAL_API_KEYS_FILE: keys.path,
      MAINTENANCE_GARBAGE_GRACE_HOURS: '0',
      ...lab?.settings,
    },
  });
  const config: StoreConfig =
    lab === undefined
      ? { driver: 'filesystem', directory: vault.objectDirectory }
      : { driver: 's3', ...lab.config };
  const store = await createObjectStore(config);
  t.teardown(() => store.close());
  const account = await createAccount(vault);
  const setup: Setup = {
    vault,
    store,
    account,
    user: await logIn(vault, account),
    directory: await temporaryDirectory(t),
    lab,
    async maintain(task) {
      const url = `${vault.baseUrl}/v1/internal/maintenance/${task}`;
      const headers = { 'X-Internal-Api-Key': keys.admin };
      // A killed process held the lock of its task, which ends 15 s later.
      const { status, body, text } = await until(
        async () => {
          const answer = await send('POST', url, { headers });
          return answer.status !== 409 && answer;
        },
        { what: `the lock of ${task}`, timeoutMs: 60_000, intervalMs: 500 },
      );
      if (status !== 200) throw new Error(`${task}: ${status} ${text}`);
      return body as Record<string, unknown>;
    },
  };
  const faults: Fault[] = ['app', 'client', ...(lab === undefined ? [] : (['store'] as const))];
  const total = { completed: 0, expired: 0, unused: 0, garbage: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const fault = faults[round % faults.length] ?? 'app';
    const completed = await uploadUnderFault(t, setup, fault);
    const collected = await collectRest(setup, random() < 0.3);
    const objects = await assertNothingElse(t, vault, store);
    total.completed += completed;
    total.expired += collected.expired;
    total.unused += collected.unused;
    total.garbage += collected.garbage;
    t.log(
      `${fault}: ${completed} completed, ${JSON.stringify(collected)}, ${objects} objects remain`,
    );
  }
  const entries = await untilSealed(vault);
  await assertNoViolation(t, vault);
  await assertProofsVerify(t, vault);
  t.log(`${JSON.stringify(total)}, ${entries} entries`);
}

function someBytes(): Bytes {
  const size = 1 + Math.floor(maxFileBytes * random() ** 2);
  return new Uint8Array(testBytes(size, Math.floor(random() * 2 ** 31)));
}

/**
 * Runs uploads of every kind and kills something meanwhile. Resolves with the number of completed
 * uploads.
 */
async function uploadUnderFault(t: ExecutionContext, setup: Setup, fault: Fault): Promise<number> {
  const { vault, store, user } = setup;
  const begunAt = new Date();
  const stop = new AbortController();
  const stored = storeDocument(user, someBytes());
  const [unused, resumed, left] = [0, 1, 2].map(() => createBareUpload(user, someBytes()));
  const uploads = [unused?.finish(), resumed?.begin(stop.signal), left?.begin(stop.signal)];
  const killed = killInTheMiddle(t, setup, fault);
  await delay(workMs * random());
  stop.abort();
  await Promise.all([stored, killed, ...uploads]);
  await resumed?.finish();
  for (const upload of [await unused?.finish(), await resumed?.finish()]) {
    if (upload !== undefined) await assertSent(t, store, upload);
  }
  return assertWhole(t, vault, store, begunAt);
}

async function killInTheMiddle(t: ExecutionContext, setup: Setup, fault: Fault): Promise<void> {
  const { vault, lab } = setup;
  if (fault === 'client') return killClient(t, setup);
  await delay(workMs * random());
  if (fault === 'app') {
    await vault.app.kill();
    await forgetDead(vault);
    await vault.app.start();
  } else {
    await lab?.kill();
    await delay(workMs * random());
    await lab?.start();
  }
}

/** Kills a client during an upload; the next client resumes it and creates the document. */
async function killClient(
  t: ExecutionContext,
  { vault, account, directory }: Setup,
): Promise<void> {
  const file = join(directory, String(random()));
  await writeFile(file, someBytes());
  const options: UploadProgramOptions = {
    ...account,
    baseUrl: vault.baseUrl,
    file,
    journal: `${file}.resume`,
  };
  const run = () =>
    runProgram(t, ['test/faults/uploads/upload-program.ts', JSON.stringify(options)]);
  const first = run();
  await untilLine(first, /^uploading$/);
  await delay((workMs / 2) * random());
  first.kill('SIGKILL');
  await first.exitCode;
  const next = run();
  if ((await next.exitCode) !== 0) throw new Error(next.lines.join('\n'));
}

/**
 * Removes everything that is no document a day later, even if that work is interrupted by a kill.
 */
async function collectRest({ vault, maintain }: Setup, isCutOff: boolean) {
  await letADayPass(vault);
  if (isCutOff) {
    const cutOff = Promise.allSettled([maintain('expire-uploads'), maintain('collect-garbage')]);
    await delay(100 * random());
    await vault.app.kill();
    await cutOff;
    await forgetDead(vault);
    await vault.app.start();
  }
  const { expiredSessions, removedFiles } = await maintain('expire-uploads');
  await untilDone(vault);
  const { abortedUploads, deletedObjects } = await maintain('collect-garbage');
  await untilDone(vault);
  return {
    expired: Number(expiredSessions),
    unused: Number(removedFiles),
    garbage: Number(abortedUploads) + Number(deletedObjects),
  };
}
