import type { LocalObjects } from '../stores/local-objects.ts';
import type { ObjectEncryption } from '../objects/object-encryption.ts';
import type { DeletionResolver, Resolver } from '../objects/resolver.ts';
import type { ServerClock } from './server-clock.ts';
import type { SyncRequests } from './requests.ts';

/** What one synchronisation works with. */
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
  /** Writes of this device that are part of the object's history now. */
  sent: number;
  /** Answers that a write conflicts; one write may have several. */
  conflicts: number;
  /** Objects of which the vault had an older state than this device: it was restored. */
  restored: number;
}
