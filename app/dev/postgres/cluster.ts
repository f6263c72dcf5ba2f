import { chown, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runGuarded } from '../processes/guarded-process.ts';
import { lockFile, type Layout } from '../files/layout.ts';
import type { PostgresBinaries } from './binaries.ts';
import type { UnprivilegedUser } from './user.ts';

interface ClusterOptions {
  readonly layout: Layout;
  /** Short-lived, and open to `user`. */
  readonly runtimeDirectory: string;
  readonly binaries: PostgresBinaries;
  readonly user: UnprivilegedUser | undefined;
  readonly durable: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Makes the data directory unless there is one. An interrupted attempt leaves none behind. */
export async function createCluster(options: ClusterOptions, adminPassword: string): Promise<void> {
  const { layout, runtimeDirectory, binaries, user, durable, signal } = options;
  if (await stat(layout.postgres).catch(() => undefined)) return;
  const unfinished = `${layout.postgres}.unfinished`;
  const passwordFile = join(runtimeDirectory, 'initdb-password');
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await writeFile(passwordFile, adminPassword, { mode: 0o600 });
  if (user) {
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
          ...(durable ? [] : ['--no-sync']),
        ],
        cwd: '/',
        env: { TZ: 'UTC' },
        stopSignal: 'SIGTERM',
        lockFile: lockFile(layout, 'postgres'),
        directories,
        ...(user && { user }),
      },
      signal,
    );
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(unfinished, layout.postgres);
}

/**
 * How Postgres is told its data directory. An unprivileged user may be unable to walk the path to a
 * checkout of root's, so root opens the directory and Postgres reaches it through the descriptor,
 * which checks no directory above. This needs no tool and no capability (a container's root often
 * has no CAP_DAC_READ_SEARCH to hand down), and keeps the data below the checkout.
 */
export function dataDirectory(
  path: string,
  user: UnprivilegedUser | undefined,
): { readonly argument: string; readonly directories: string[] } {
  return user
    ? { argument: '/dev/fd/3', directories: [path] }
    : { argument: path, directories: [] };
}
