import type { LocalObjects } from '../stores/local-objects.ts';
import type { ObjectEncryption } from '../objects/object-encryption.ts';
import type { DeletionResolver, Resolver } from '../objects/resolver.ts';
import type { ServerClock } from './server-clock.ts';
import type { SyncRequests } from './requests.ts';

/** The dependencies and counters of one synchronisation. */
export interface Exchange {
  readonly local: LocalObjects;
  readonly requests: SyncRequests;
  readonly encryption: ObjectEncryption;
  readonly clock: ServerClock;
  readonly resolve: Resolver;
  readonly resolveDeletion: DeletionResolver;
  readonly counts: Counts;
}

export interface Counts {
  /** Number of writes of this device that became part of an object's history. */
  sent: number;
  /** Number of responses that reported a conflict; one write may have several. */
  conflicts: number;
  /**
   * Number of objects that the vault had in an older state than this device, because it was
   * restored.
   */
  restored: number;
}
