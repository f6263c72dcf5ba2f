import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createDatabase,
  databaseUrls,
  type DatabaseUrls,
} from '../../app/dev/postgres/database.ts';
import { runGuarded } from '../../app/dev/processes/guarded-process.ts';
import { inheritedEnvironment } from '../../app/dev/processes/node-process.ts';
import { startOwnPostgres } from '../faults/vault/own-postgres.ts';
import { replicaSettings } from '../faults/vault/replica-settings.ts';
import { createKeyFile } from '../support/vault/key-file.ts';
import type { TestStack } from '../support/vault/stack.ts';
import { startFront } from './front.ts';
import { startPod, type Pod } from './pods.ts';
import type { Release } from './releases.ts';

/** Milliseconds for which a Service still sends connections to a pod that has its SIGTERM. */
const staleMs = 200;

/** Pods of several releases on one database, behind a front. */
export interface Fleet extends AsyncDisposable {
  /** The URL of the front. */
  readonly baseUrl: string;
  readonly databases: DatabaseUrls;
  readonly mailDirectory: string;
  readonly internalKey: string;
  /** The pods that the front sends connections to. */
  readonly pods: () => readonly Pod[];
  /** Starts a pod, and sends connections to it once it is ready. */
  add(release: Release): Promise<Pod>;
  /** Ends a pod by SIGTERM, which gets no new connections a moment later. Throws if it fails. */
  remove(pod: Pod): Promise<void>;
  /** Replaces every pod by one of a release, one by one. */
  roll(release: Release): Promise<void>;
}

/** Starts a Postgres of its own and creates a database with the schema of a release. */
export async function startFleet(
  { redisUrl, signerEnvironment }: TestStack,
  release: Release,
): Promise<Fleet> {
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-fleet-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const inside = (name: string) => join(directory, name);
  const mailDirectory = inside('mail');
  await mkdir(mailDirectory);
  const keyFile = await createKeyFile();
  resources.defer(() => keyFile.remove());
  const { access } = resources.use(await startOwnPostgres());
  const database = 'vault';
  await createDatabase(access, database);
  const databases = databaseUrls(access, database);
  await migrateTo(release, databases);
  const front = resources.use(await startFront());

  const settings = replicaSettings({
    databases,
    redisUrl,
    keyFile: keyFile.path,
    objectDirectory: inside('objects'),
    mailDirectory,
  });
  let pods: readonly Pod[] = [];
  let started = 0;
  resources.defer(async () => void (await Promise.all(pods.map((pod) => pod.stop()))));

  function route(next: readonly Pod[]): void {
    pods = next;
    front.route(pods.map(({ port }) => port));
  }

  async function add(next: Release): Promise<Pod> {
    started += 1;
    const pod = await startPod(next, {
      directory: inside(`pod-${started}`),
      logFile: inside('pods.log'),
      settings,
      signerSettings: signerEnvironment,
    });
    route([...pods, pod]);
    return pod;
  }

  async function remove(pod: Pod): Promise<void> {
    const stopped = pod.stop();
    await delay(staleMs);
    route(pods.filter((other) => other !== pod));
    const { code, signal } = await stopped;
    if (code !== 0) throw new Error(`a pod ended with ${signal ?? code}`);
  }

  const running = resources.move();
  return {
    baseUrl: front.url,
    databases,
    mailDirectory,
    internalKey: keyFile.admin,
    pods: () => pods,
    add,
    remove,
    async roll(next) {
      for (const pod of pods) {
        await add(next);
        await remove(pod);
      }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Runs `probatio migrate` of a release. */
export async function migrateTo(release: Release, { owner }: DatabaseUrls): Promise<void> {
  await runGuarded({
    name: `migrate of the ${release.name} release`,
    command: process.execPath,
    args: [join(release.directory, 'app/cli.ts'), 'migrate'],
    cwd: release.directory,
    env: { ...inheritedEnvironment(), DATABASE_OWNER_URL: owner },
    stopSignal: 'SIGTERM',
  });
}
