import { statSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';

const rootUid = 0;
const writableByGroup = 0o020;
const writableByOthers = 0o002;

/** The user and the groups of a process. */
interface Identity {
  readonly uid: number;
  readonly gids: readonly number[];
}

/**
 * Returns why the directory of a socket cannot be trusted, as the rest of a sentence, with the
 * remedy; undefined if it can. Whoever may write there can put a socket of their own in the place
 * of the signer's. The directory may belong to root, to this process's user, or to another user who
 * shares it with a group of this process; others must not write there, nor the group of another
 * user. Throws the error of the file system.
 */
export function findDirectoryProblem(
  socketPath: string,
  identity: Identity = ownIdentity(),
): string | undefined {
  const directory = statSync(dirname(socketPath));
  if ((directory.mode & writableByOthers) !== 0) {
    return 'is in a directory in which every user may write; take that right away (chmod o-w)';
  }
  if (isOwn(directory, identity)) return undefined;
  if (!identity.gids.includes(directory.gid)) {
    return 'is in a directory of another user; let it belong to root or to this process’s user';
  }
  return (directory.mode & writableByGroup) === 0
    ? undefined
    : 'is in a directory of another user in which its group may write; take that right away ' +
        '(chmod g-w)';
}

function isOwn({ uid }: Stats, identity: Identity): boolean {
  return uid === rootUid || uid === identity.uid;
}

function ownIdentity(): Identity {
  return { uid: process.geteuid?.() ?? rootUid, gids: process.getgroups?.() ?? [] };
}
