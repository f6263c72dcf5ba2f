import type { LeaseRecord, LeaseStore } from './lease-store.ts';

/** How long others wait for a leader that does not renew its Lease. */
export const leaseSeconds = 15;
/**
 * How long a leader acts after its last renewal began. The difference is for requests that it had
 * sent before.
 */
const actingMs = 10_000;

interface ElectionOptions {
  readonly store: LeaseStore;
  /** Unique for each process. */
  readonly identity: string;
  /** Milliseconds of a clock that is never set, and that goes on while the process is frozen. */
  readonly monotonic: () => number;
}

export type Election = ReturnType<typeof createElection>;

/**
 * Creates an election by a Lease. Whether somebody else's Lease is over is told by the time for
 * which it has not changed here, so clocks need not agree. A leader that cannot renew ceases to be
 * one by its own clock, before anybody else can take over.
 */
export function createElection({ store, identity, monotonic }: ElectionOptions) {
  let actsUntil = 0;
  let seen: { readonly version: string; readonly at: number } | undefined;

  /** Returns whether this process may hold the Lease now. */
  function isFree(lease: LeaseRecord | undefined): boolean {
    if (lease === undefined || lease.holder === '' || lease.holder === identity) return true;
    if (seen?.version !== lease.version) seen = { version: lease.version, at: monotonic() };
    return monotonic() - seen.at >= 1_000 * lease.durationSeconds;
  }

  return {
    /** Tries once to take or renew the Lease. Call it every few seconds. */
    async campaign(): Promise<void> {
      const lease = await store.read();
      if (!isFree(lease)) {
        // Somebody else has taken over.
        actsUntil = 0;
        return;
      }
      const startedAt = monotonic();
      if (await store.write(identity, lease?.version)) actsUntil = startedAt + actingMs;
    },

    /** Ask this directly before anything is changed. */
    isLeader: (): boolean => monotonic() < actsUntil,

    /** Gives the Lease up, so that another process can lead at once. */
    async resign(): Promise<void> {
      if (monotonic() >= actsUntil) return;
      actsUntil = 0;
      const lease = await store.read();
      if (lease?.holder === identity) await store.write('', lease.version);
    },
  };
}
