import { execFileSync } from 'node:child_process';
import { stat } from 'node:fs/promises';

export interface UnprivilegedUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Chooses the user that Postgres runs as. Returns undefined, which stands for the user of the
 * current process, unless that user is root: Postgres refuses to run as root. For root, returns the
 * owner of the existing data directory, unless root owns it; otherwise the user `postgres`;
 * otherwise `nobody`.
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
