import { until } from '../../app/dev/processes/until.ts';
import { startLoad, type Load } from '../faults/vault/load.ts';
import type { User } from '../faults/vault/user.ts';
import type { ClusterVault } from '../support/cluster/cluster-vault.ts';

/** Leaves the processors of the one node to the pods that start meanwhile. */
const paceMs = 150;

/** Starts the load of one user, who never waits for long. */
export function startClusterLoad(vault: ClusterVault, user: User, random: () => number): Load {
  return startLoad(vault.baseUrl, [user], random, paceMs);
}

/** Sends each request on a connection of its own, which the Service directs anew. */
export const reconnecting: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('connection', 'close');
  return fetch(input, { ...init, headers });
};

/** Lists the failures of loads, and the actions that were postponed. */
export function failuresOf(...loads: readonly Load[]): readonly string[] {
  return loads.flatMap(({ report: { failures, postponed } }) =>
    failures.concat(
      Object.entries(postponed).flatMap(([action, count]) => (count > 0 ? [action] : [])),
    ),
  );
}

/** Waits until each load has certified and read more. */
export async function untilMoreSucceed(...loads: readonly Load[]): Promise<void> {
  for (const { report } of loads) {
    const { certify, read } = report.succeeded;
    await until(() => report.succeeded.certify > certify + 2 && report.succeeded.read > read + 2, {
      what: 'a load to go on',
      timeoutMs: 60_000,
    });
  }
}
