import { randomUUID } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ClientError } from '../errors/client-error.ts';

const heldHere = new Set<string>();

/** A process that was killed may take a moment to end. */
const patience = { waitMs: 3_000, stepMs: 100 };

/**
 * Claims a path for this process; dispose of the result to release it. A claim is a file of its own
 * beside the path, written before the others are looked for, so that of two concurrent claims at
 * least one sees the other. Claims of dead processes are removed. Throws `inUse` if another claim
 * is still held after three seconds.
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

/** Resolves with whether the claim's process has ended, or ends within the time limit. */
async function isGivenUp(name: string, prefix: string): Promise<boolean> {
  for (let waited = 0; isHeld(name, prefix); waited += patience.stepMs) {
    if (waited >= patience.waitMs || heldHere.has(name)) return false;
    await setTimeout(patience.stepMs);
  }
  return true;
}

/**
 * Returns whether a claim is live. Process ids are reused, so one with our own id is live only if
 * this process made it.
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
