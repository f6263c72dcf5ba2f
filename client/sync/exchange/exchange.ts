import type { LocalObjects } from '../stores/local-objects.ts';
import type { ObjectEncryption } from '../objects/object-encryption.ts';
import type { DeletionResolver, Resolver } from '../objects/resolver.ts';
import type { ServerClock } from './server-clock.ts';
import type { SyncRequests } from './requests.ts';
import type { StatementEncryption } from '../statements/statement-encryption.ts';
import type { Verify } from '../statements/verify-state.ts';

/** The dependencies and counters of one synchronisation. */
export interface Exchange {
  readonly local: LocalObjects;
  readonly requests: SyncRequests;
  readonly encryption: ObjectEncryption;
  readonly statements: StatementEncryption;
  readonly deviceId: string;
  readonly verify: Verify;
  /** Whether the user accepts states that are older than the known ones. */
  readonly acceptRestored: boolean;
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
  /** Number of objects of which the user accepted an older state than this device knew. */
  restored: number;
}
