import { randomUUID } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ClientError } from '../errors/client-error.ts';

const heldHere = new Set<string>();

/**
 * Time limit and interval for waiting until another process has ended, since a killed process may
 * take a moment to end.
 */
const patience = { waitMs: 3_000, stepMs: 100 };

/**
 * Claims a path for this process. Dispose of the result to release the claim. A claim is a file of
 * its own beside the path. It is written before the search for other claims, so that at least one
 * of two concurrent callers sees the claim of the other. Claims of processes that have ended are
 * removed. Throws `inUse` if another process still holds a claim after three seconds, and
 * immediately if this process already holds one.
 */
export async function claimPath(
  path: string,
  inUse: 'resume_in_use' | 'store_in_use' = 'resume_in_use',
): Promise<AsyncDisposable> {
  const prefix = `${basename(path)}.claim-`;
  const name = `${prefix}${process.pid}-${randomUUID()}`;
  const directory = dirname(path);
  const claim = join(directory, name);
  const release = async () => {
    heldHere.delete(name);
    await rm(claim, { force: true });
  };

  heldHere.add(name);
  try {
    await writeFile(claim, '', { flag: 'wx', mode: 0o600 });
    for (const other of await readdir(directory)) {
      if (!other.startsWith(prefix) || other === name) continue;
      if (!(await isGivenUp(other, prefix))) throw new ClientError(inUse);
      await rm(join(directory, other), { force: true });
    }
  } catch (error) {
    await release();
    throw error;
  }
  return { [Symbol.asyncDispose]: release };
}

/**
 * Resolves with true if the process of the claim has ended or ends within the time limit, and with
 * false immediately if that process is this one.
 */
async function isGivenUp(name: string, prefix: string): Promise<boolean> {
  for (let waited = 0; isHeld(name, prefix); waited += patience.stepMs) {
    if (waited >= patience.waitMs || heldHere.has(name)) return false;
    await setTimeout(patience.stepMs);
  }
  return true;
}

/**
 * Returns whether the process of a claim is still running. Because process ids are reused, a claim
 * with the id of this process counts only if this process made it.
 */
function isHeld(name: string, prefix: string): boolean {
  const pid = Number.parseInt(name.slice(prefix.length), 10);
  if (pid === process.pid) return heldHere.has(name);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
