import { randomUUID } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ClientError } from '../errors/client-error.ts';

const heldHere = new Set<string>();

/** A process that was killed may take a moment to be gone. */
const patience = { waitMs: 3_000, stepMs: 100 };

/**
 * Claims a path for this process until disposed of. A claim is a file of its own beside the path,
 * written before the others are looked for: of two claims at once at least one sees the other.
 * Those of dead processes are removed. Throws `inUse`, after three seconds of patience.
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

/** Whether the claim's process is gone, or goes within the time we wait for it. */
async function isGivenUp(name: string, prefix: string): Promise<boolean> {
  for (let waited = 0; isHeld(name, prefix); waited += patience.stepMs) {
    if (waited >= patience.waitMs || heldHere.has(name)) return false;
    await setTimeout(patience.stepMs);
  }
  return true;
}

/** Process ids come again: a claim with ours is live only if we know it. */
function isHeld(name: string, prefix: string): boolean {
  const pid = Number.parseInt(name.slice(prefix.length), 10);
  if (pid === process.pid) return heldHere.has(name);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
