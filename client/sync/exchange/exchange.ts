import type { LocalObjects } from '../stores/local-objects.ts';
import type { ObjectEncryption } from '../objects/object-encryption.ts';
import type { DeletionResolver, Resolver } from '../objects/resolver.ts';
import type { ServerClock } from './server-clock.ts';
import type { SyncRequests } from './requests.ts';

/** Everything that one synchronisation needs. */
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
  /** Writes of this device that became part of an object's history. */
  sent: number;
  /** Responses that reported a conflict; one write may have several. */
  conflicts: number;
  /** Objects for which the vault had an older state than this device, since it was restored. */
  restored: number;
}
