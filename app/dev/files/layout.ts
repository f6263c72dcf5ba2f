import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** The absolute paths of the stack's data, all below one directory. */
export interface Layout {
  readonly postgres: string;
  readonly redis: string;
  readonly objects: string;
  readonly softhsm: string;
  readonly mail: string;
  readonly secrets: string;
  readonly locks: string;
  readonly log: string;
}

/**
 * Creates the missing data directories below `directory`, except that of Postgres, with mode 0700.
 * Resolves with the paths of all of them.
 */
export async function createLayout(directory: string): Promise<Layout> {
  const inside = (name: string) => resolve(directory, name);
  const layout: Layout = {
    postgres: inside('postgres'),
    redis: inside('redis'),
    objects: inside('objects'),
    softhsm: inside('softhsm'),
    mail: inside('mail'),
    secrets: inside('secrets'),
    locks: inside('locks'),
    log: inside('log'),
  };
  // `createCluster` creates the directory of Postgres, completely or not at all.
  for (const path of Object.values(layout)) {
    if (path !== layout.postgres) await mkdir(path, { recursive: true, mode: 0o700 });
  }
  return layout;
}

export function lockFile(layout: Layout, name: string): string {
  return join(layout.locks, name);
}

export function logFile(layout: Layout, name: string): string {
  return join(layout.log, `${name}.log`);
}
