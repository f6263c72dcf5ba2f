import { execFileSync } from 'node:child_process';
import { stat } from 'node:fs/promises';

export interface UnprivilegedUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Chooses the user that Postgres runs as. Returns undefined for the user of the current process,
 * unless that is root, as which Postgres refuses to run: then returns the owner of existing data,
 * or else the user `postgres`, or else `nobody`.
 */
export async function postgresUser(dataDirectory: string): Promise<UnprivilegedUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(dataDirectory).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return findUser('postgres') ?? findUser('nobody') ?? { uid: 65_534, gid: 65_534 };
}

function findUser(name: string): UnprivilegedUser | undefined {
  const id = (flag: string) =>
    Number(
      execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
  try {
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
}
