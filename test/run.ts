/**
 * Runs `npm test`: starts the services once in a temporary directory, migrates a template database,
 * starts the vault that test files share, runs ava with the given arguments (`npm test --
 * test/client/…`) and stops everything, even on failure. With TEST_SERVICES=containers, Postgres
 * and Redis are containers of Docker.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { projectFile } from '../app/dev/files/project.ts';
import { startServices, type Servers, type Services } from '../app/dev/stack/services.ts';
import { stopSignals } from '../app/dev/processes/stop-signals.ts';
import { keepExamples, recordExamplesIn } from './support/openapi/recorded-examples.ts';
import { printOutages, recordOutagesIn } from './support/runs/recorded-outages.ts';
import { readFaults, recordIn } from './support/openapi/recorded-faults.ts';
import { writeGroups } from './support/runs/groups.ts';
import { createTemplateDatabase } from './support/runs/template-database.ts';
import {
  type SharedVaultAddresses,
  type TestStack,
  testSignerSettings,
} from './support/vault/stack.ts';

const templateName = 'probatio_template';
/** Free bytes of memory that the services of the tests need. */
const neededBytes = 4 * 2 ** 30;

/** Many processes load the same files, so they share compiled code. */
const cached = { NODE_COMPILE_CACHE: projectFile('node_modules/.cache/compile') };

/** Files and patterns to run, and options, are as AVA's. */
const runsAll = process.argv.slice(2).every((argument) => argument === '--tap');

const stop = stopSignals();
try {
  process.exitCode = await runTests(stop);
} catch (error) {
  if (!stop.aborted) console.error(error);
  process.exitCode = 1;
}

async function runTests(signal: AbortSignal): Promise<number> {
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(await scratch(), 'probatio-test-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const servers = resources.use(await serversOf(process.env['TEST_SERVICES']));
  const services = await startTestServices(directory, servers, signal);
  resources.defer(() => services.stop());
  await createTemplateDatabase(services.postgres.access, templateName, signal);
  const stack: TestStack = {
    postgres: services.postgres.access,
    templateDatabase: templateName,
    redisUrl: services.redis.url,
    identityProviderUrl: services.identityProviderUrl,
    signerSocketPath: services.signerSocketPath,
    signerEnvironment: services.signerEnvironment,
  };
  const vault = startSharedVault(stack);
  resources.defer(() => vault.stop());
  const faultsFile = join(directory, 'api-faults');
  const outagesFile = join(directory, 'outages');
  const examplesFile = join(directory, 'api-examples');
  const recordsExamples = process.env['RECORD_EXAMPLES'] === 'true';
  const groups = runsAll ? resources.use(await writeGroups()) : undefined;
  const environment = {
    ...groups?.environment,
    ...recordIn(faultsFile),
    ...recordOutagesIn(outagesFile),
    ...(recordsExamples ? recordExamplesIn(examplesFile) : {}),
  };
  const status = await runAva(
    { ...stack, sharedVault: await vault.addresses },
    environment,
    signal,
  );
  if (status !== 0) printOutages(outagesFile);
  if (recordsExamples) keepExamples(examplesFile);
  return reportFaults(readFaults(faultsFile)) ? status : 1;
}

/** Prints what openapi.json does not describe. Returns whether there is nothing to print. */
function reportFaults(faults: readonly string[]): boolean {
  if (faults.length === 0) return true;
  console.error('Responses were not as openapi.json describes them:');
  for (const fault of faults) console.error(`  ${fault}`);
  return false;
}

/** Starts the process of the vault that test files share. */
function startSharedVault(stack: TestStack) {
  const child = spawn(
    process.execPath,
    [projectFile('test/support/vault/shared-vault-process.ts')],
    {
      env: { ...process.env, ...cached, PROBATIO_TEST_STACK: JSON.stringify(stack) },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exited = once(child, 'exit');
  const addresses = Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(() => Promise.reject(new Error('the shared vault ended before it was ready'))),
  ]).then(([line]) => JSON.parse(line as string) as SharedVaultAddresses);
  // Nobody may wait for the addresses any more.
  addresses.catch(() => undefined);
  return {
    addresses,
    async stop() {
      child.kill();
      await exited;
    },
  };
}

/**
 * Returns the directory in which temporary directories are made: in memory if there is room. The
 * tests create and drop hundreds of databases, which costs a disk a fifth of the whole time.
 */
async function scratch(): Promise<string> {
  const memory = '/dev/shm';
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  const isUsable = bavail * bsize >= neededBytes && (await isWritable(memory));
  return isUsable ? memory : tmpdir();
}

async function isWritable(directory: string): Promise<boolean> {
  return access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/**
 * Returns what starts Postgres and Redis: containers if TEST_SERVICES is `containers`, else
 * undefined.
 */
async function serversOf(kind = 'processes'): Promise<(Servers & AsyncDisposable) | undefined> {
  if (kind === 'processes') return undefined;
  if (kind !== 'containers') throw new Error('TEST_SERVICES must be processes or containers');
  const { createContainerServers } = await import('./support/containers/servers.ts');
  return createContainerServers();
}

/** Starts the services. Prints their output only if they do not start. */
async function startTestServices(
  directory: string,
  servers: Servers | undefined,
  signal: AbortSignal,
): Promise<Services> {
  const lines: string[] = [];
  const log = (source: string, line: string) => void lines.push(`${source}: ${line}`);
  try {
    return await startServices({
      directory,
      signerSettings: testSignerSettings,
      durable: false,
      servers,
      log,
      signal,
    });
  } catch (error) {
    console.error(lines.join('\n'));
    throw error;
  }
}

async function runAva(
  stack: TestStack,
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<number> {
  const ava = spawn(
    process.execPath,
    [projectFile('node_modules/ava/entrypoints/cli.mjs'), ...process.argv.slice(2)],
    {
      cwd: projectFile('.'),
      env: {
        ...process.env,
        ...cached,
        ...environment,
        PROBATIO_TEST_STACK: JSON.stringify(stack),
      },
      stdio: 'inherit',
    },
  );
  const forward = () => ava.kill('SIGTERM');
  signal.addEventListener('abort', forward);
  const [code] = (await once(ava, 'exit')) as [number | null];
  signal.removeEventListener('abort', forward);
  return code ?? 1;
}
