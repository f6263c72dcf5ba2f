import { chown, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runGuarded } from '../processes/guarded-process.ts';
import { lockFile, type Layout } from '../files/layout.ts';
import type { PostgresBinaries } from './binaries.ts';
import type { UnprivilegedUser } from './user.ts';

interface ClusterOptions {
  readonly layout: Layout;
  /** Directory for files that exist only while the stack runs; `user` can access it. */
  readonly runtimeDirectory: string;
  readonly binaries: PostgresBinaries;
  readonly user: UnprivilegedUser | undefined;
  readonly durable: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Creates the data directory of Postgres unless it exists. An interrupted call leaves no data
 * directory behind, so that the next call starts over.
 */
export async function createCluster(options: ClusterOptions, adminPassword: string): Promise<void> {
  const { layout, runtimeDirectory, binaries, user, durable, signal } = options;
  const existing = await stat(layout.postgres).catch(() => undefined);
  if (existing !== undefined) return;
  const unfinished = `${layout.postgres}.unfinished`;
  const passwordFile = join(runtimeDirectory, 'initdb-password');
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await writeFile(passwordFile, adminPassword, { mode: 0o600 });
  if (user !== undefined) {
    await chown(unfinished, user.uid, user.gid);
    await chown(passwordFile, user.uid, user.gid);
  }
  const { argument, directories } = dataDirectory(unfinished, user);
  try {
    await runGuarded(
      {
        name: 'initdb',
        command: binaries.initdb,
        args: [
          `--pgdata=${argument}`,
          '--username=postgres',
          '--auth=scram-sha-256',
          `--pwfile=${passwordFile}`,
          '--encoding=UTF8',
          '--locale=C',
          '--locale-provider=builtin',
          '--builtin-locale=C.UTF-8',
          '--no-instructions',
          ...(durable ? [] : ['--no-sync', '--set=scram_iterations=1']),
        ],
        cwd: '/',
        env: { TZ: 'UTC' },
        stopSignal: 'SIGTERM',
        lockFile: lockFile(layout, 'postgres'),
        directories,
        ...(user === undefined ? {} : { user }),
      },
      signal,
    );
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(unfinished, layout.postgres);
}

/**
 * Returns the argument that tells Postgres its data directory, and the directories that the
 * watchdog must open and pass on as file descriptors. An unprivileged user may have no access to
 * the parent directories of a checkout that root owns. Therefore root opens the data directory, and
 * Postgres reaches it through the file descriptor, for which no parent directory is checked. This
 * needs no tool and no capability (root in a container often has no CAP_DAC_READ_SEARCH to pass on)
 * and keeps the data below the checkout.
 */
export function dataDirectory(
  path: string,
  user: UnprivilegedUser | undefined,
): { readonly argument: string; readonly directories: string[] } {
  return user === undefined
    ? { argument: path, directories: [] }
    : { argument: '/dev/fd/3', directories: [path] };
}
