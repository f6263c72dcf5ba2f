import type { VaultPod } from '../cluster/workloads.ts';
import { isOk, type Outcome } from './failure.ts';

/** Returns where the internal listener of a pod is. */
export function originOf({ address }: VaultPod, port: number): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/**
 * Asks one pod after the other until one answers, those that are ready first. Resolves with the
 * last failure if none does, and asks nobody else after a response with an error of the app.
 */
export async function askAny<T>(
  pods: readonly VaultPod[],
  port: number,
  ask: (origin: string) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  let last: Outcome<T> = { failure: { code: 'no_pods' } };
  for (const pod of pods.toSorted((a, b) => Number(b.isReady) - Number(a.isReady))) {
    last = await ask(originOf(pod, port));
    if (isOk(last) || !mayPass.has(last.failure.code)) return last;
  }
  return last;
}

/** The codes that say something of the pod that was asked, and nothing of the vault. */
const mayPass: ReadonlySet<string> = new Set([
  'unreachable',
  'bad_response',
  // A worker does not serve the routes of the API.
  'not_found',
  'shutting_down',
]);
