/**
 * Runs `npm run soak -- NAME`: one test of faults with more rounds, on the services that `npm test`
 * starts or on a cluster.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { projectFile } from '../app/dev/files/project.ts';

interface Soak {
  /** Path in test/. */
  readonly file: string;
  readonly environment: Record<string, string>;
  /** A program that installs what the test needs, and runs it; by default test/run.ts. */
  readonly runner?: string;
}

const soaks: Record<string, Soak> = {
  audit: { file: 'faults/audit/audit.labtest.ts', environment: { ROUNDS: '200' } },
  paused: { file: 'faults/audit/paused.labtest.ts', environment: { ROUNDS: '12' } },
  token: { file: 'faults/signer/token.labtest.ts', environment: { ROUNDS: '10' } },
  signer: {
    file: 'faults/signer/signer.labtest.ts',
    environment: { ROUNDS: '20', OUTAGE_SECONDS: '10' },
  },
  'upload-client': {
    file: 'faults/uploads/upload-client.labtest.ts',
    environment: { ROUNDS: '50', FAULTS_S3: 'true' },
  },
  uploads: {
    file: 'faults/uploads/uploads.labtest.ts',
    environment: { ROUNDS: '200', FAULTS_S3: 'true' },
  },
  completion: {
    file: 'faults/uploads/completion.labtest.ts',
    environment: { ROUNDS: '12', MEBIBYTES: '1024' },
  },
  app: { file: 'faults/app/app.labtest.ts', environment: { ROUNDS: '30' } },
  /** Runs 20 000 commits. */
  'sync-cursor': { file: 'faults/sync/sync-cursor.labtest.ts', environment: { ROUNDS: '20' } },
  /** Runs 10 000 operations. */
  sync: { file: 'faults/sync/sync.labtest.ts', environment: { ROUNDS: '20' } },
  abuse: {
    file: 'faults/abuse/abuse.labtest.ts',
    environment: { ROUNDS: '10', DOCUMENTS: '10000' },
  },
  /** Imposes each condition for 20 seconds. */
  faults: {
    file: 'faults/conditions/conditions.labtest.ts',
    environment: { ROUNDS: '1', HOLD_SECONDS: '20', CONDITION: '' },
  },
  /** Makes 10 000 mixtures. */
  rollbacks: { file: 'faults/rollbacks/rollbacks.labtest.ts', environment: { ROUNDS: '10' } },
  /** Makes 10 000 changes. */
  disclosure: { file: 'faults/disclosure/disclosure.labtest.ts', environment: { ROUNDS: '10' } },
  /** Runs 5000 jobs. */
  jobs: { file: 'faults/jobs/jobs.labtest.ts', environment: { ROUNDS: '60', JOBS: '5000' } },
  /** Makes 5000 downloads. */
  custody: {
    file: 'faults/custody/custody.labtest.ts',
    environment: { ROUNDS: '50', DOWNLOADS: '100' },
  },
  /** Kills `migrate` at every message. */
  migrate: { file: 'db/migrating/kills.test.ts', environment: { ROUNDS: '1000' } },
  /** Kills `partitions detach` and `attach` at every message. */
  partitions: { file: 'audit/partitions/kills.test.ts', environment: { ROUNDS: '1000' } },
  /** Upgrades a vault of a million entries. */
  upgrade: { file: 'upgrade/upgrade.labtest.ts', environment: { ROWS: '1000000' } },
  /** Kills the operator of a cluster at 30 points of rotations. */
  operator: {
    file: 'cluster/operator.labtest.ts',
    environment: { ROUNDS: '30' },
    runner: '.ci/cluster',
  },
  purge: { file: 'faults/purge/purge.labtest.ts', environment: { ROUNDS: '30' } },
  reencryption: {
    file: 'faults/reencryption/reencryption.labtest.ts',
    environment: { ROUNDS: '2', ACCOUNTS: '100000' },
  },
  memory: {
    file: 'faults/memory/memory.labtest.ts',
    environment: { SMALL_MEBIBYTES: '256', LARGE_MEBIBYTES: '5120' },
  },
};

const soak = soaks[process.argv[2] ?? ''];
if (soak === undefined) {
  console.error(`usage: npm run soak -- ${Object.keys(soaks).join('|')}`);
  console.error('ROUNDS and SEED in the environment override the defaults.');
  process.exitCode = 2;
} else {
  process.exitCode = await run(soak);
}

async function run({ file, environment, runner }: Soak): Promise<number> {
  const command = runner === undefined ? process.execPath : projectFile(runner);
  const args = runner === undefined ? ['test/run.ts', '--timeout=1h'] : [];
  const child = spawn(command, [...args, `test/${file}`], {
    cwd: projectFile('.'),
    env: { SEED: String(Date.now() % 2 ** 31), ...environment, ...process.env },
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
