import type { VaultMaintenance } from '../resources/vault-maintenance.ts';
import type { MaintenanceState } from '../vault/answers.ts';
import type { Outcome } from '../vault/failure.ts';

/** The CronJob of a maintenance task. */
export interface TaskSchedule {
  readonly task: string;
  /** The name of the CronJob. */
  readonly name: string;
  readonly schedule: string;
  readonly timeZone: string | undefined;
  readonly isSuspended: boolean;
  readonly createdAt: Date;
}

/** Makes a Job of a CronJob; one that exists is left as it is. */
export interface MaintenanceAction {
  readonly kind: 'run';
  readonly cronJob: string;
  readonly job: string;
}

/** A SigningKey, as far as KeyOverdue is about it. */
export interface KeyDue {
  readonly name: string;
  readonly nextRotation: string | undefined;
}

/** Everything that decides about a VaultMaintenance. */
export interface ObservedMaintenance {
  readonly now: Date;
  readonly resource: VaultMaintenance;
  readonly vault: Outcome<MaintenanceState>;
  readonly schedules: readonly TaskSchedule[];
  readonly signingKeys: readonly KeyDue[];
  /** The names of all Jobs of the namespace. */
  readonly jobs: ReadonlySet<string>;
}
