import type { Constructor } from '@mikro-orm/core';
import { Migrator, type Migration } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { defaultRoles, nameRoles, type DatabaseRoles } from './columns/roles.ts';
import { Migration0001Tables } from './migrations/0001-tables.ts';
import { Migration0002RowSecurity } from './migrations/0002-row-security.ts';
import { Migration0003Access } from './migrations/0003-access.ts';
import { Migration0004Documents } from './migrations/0004-documents.ts';
import { Migration0005Audit } from './migrations/0005-audit.ts';
import { Migration0006Devices } from './migrations/0006-devices.ts';
import { Migration0007Tenants } from './migrations/0007-tenants.ts';
import { Migration0008SyncEpochs } from './migrations/0008-sync-epochs.ts';
import { Migration0009DeviceVersions } from './migrations/0009-device-versions.ts';
import { Migration0010OutboxKinds } from './migrations/0010-outbox-kinds.ts';
import { Migration0011SyncRequests } from './migrations/0011-sync-requests.ts';
import { Migration0012Isolation } from './migrations/0012-isolation.ts';
import { Migration0014ReplacedKeys } from './migrations/0014-replaced-keys.ts';
import { Migration0017SyncHistory } from './migrations/0017-sync-history.ts';
import { Migration0018Usage } from './migrations/0018-usage.ts';
import { Migration0020RefreshSuccessors } from './migrations/0020-refresh-successors.ts';
import { Migration0021SealingTurns } from './migrations/0021-sealing-turns.ts';
import { Migration0022SenderBlocks } from './migrations/0022-sender-blocks.ts';
import { Migration0023MaintenanceLocks } from './migrations/0023-maintenance-locks.ts';
import { Migration0025RestoreAcceptances } from './migrations/0025-restore-acceptances.ts';
import { Migration0030SealMembers } from './migrations/0030-seal-members.ts';
import { Migration0031ImportedKeys } from './migrations/0031-imported-keys.ts';
import { Migration0032CompromisedKeys } from './migrations/0032-compromised-keys.ts';
import { Migration0033Encryption } from './migrations/0033-encryption.ts';
import { Migration0034DocumentIds } from './migrations/0034-document-ids.ts';
import { Migration0035Identities } from './migrations/0035-identities.ts';
import { Migration0036ContentCommitments } from './migrations/0036-content-commitments.ts';
import { Migration0037MemoryRecords } from './migrations/0037-memory-records.ts';
import { Migration0038EntriesByResource } from './migrations/0038-entries-by-resource.ts';
import { Migration0039Mfa } from './migrations/0039-mfa.ts';
import { Migration0040Jobs } from './migrations/0040-jobs.ts';
import { Migration0046ObjectChecks } from './migrations/0046-object-checks.ts';
import { Migration0047EvidenceExports } from './migrations/0047-evidence-exports.ts';
import { Migration0048Downloads } from './migrations/0048-downloads.ts';
import { Migration0049AppendOnlyLog } from './migrations/0049-append-only-log.ts';
import { Migration0051MaintenanceRuns } from './migrations/0051-maintenance-runs.ts';
import { Migration0052LogChecks } from './migrations/0052-log-checks.ts';
import { Migration0053RefreshGenerations } from './migrations/0053-refresh-generations.ts';
import { Migration0054Batches } from './migrations/0054-batches.ts';
import { Migration0055PolicyOrder } from './migrations/0055-policy-order.ts';
import { Migration0056LogPartitions } from './migrations/0056-log-partitions.ts';
import { Migration0057Indexes } from './migrations/0057-indexes.ts';
import { Migration0058DownloadsOfExports } from './migrations/0058-downloads-of-exports.ts';
import { withOwnerSession } from './migrating/owner-session.ts';
import type { MigrationPlan } from './migrating/plan.ts';
import { runMigrations } from './migrating/run-migrations.ts';
import { entities } from './schema.ts';

/**
 * Migrations in the order in which they run. Migrations only run forward. Never edit a released
 * migration.
 */
const migrations: readonly ConcreteMigration[] = [
  Migration0001Tables,
  Migration0002RowSecurity,
  Migration0003Access,
  Migration0004Documents,
  Migration0005Audit,
  Migration0006Devices,
  Migration0007Tenants,
  Migration0008SyncEpochs,
  Migration0009DeviceVersions,
  Migration0010OutboxKinds,
  Migration0011SyncRequests,
  Migration0012Isolation,
  Migration0014ReplacedKeys,
  Migration0017SyncHistory,
  Migration0018Usage,
  Migration0020RefreshSuccessors,
  Migration0021SealingTurns,
  Migration0022SenderBlocks,
  Migration0023MaintenanceLocks,
  Migration0025RestoreAcceptances,
  Migration0030SealMembers,
  Migration0031ImportedKeys,
  Migration0032CompromisedKeys,
  Migration0033Encryption,
  Migration0034DocumentIds,
  Migration0035Identities,
  Migration0036ContentCommitments,
  Migration0037MemoryRecords,
  Migration0038EntriesByResource,
  Migration0039Mfa,
  Migration0040Jobs,
  Migration0046ObjectChecks,
  Migration0047EvidenceExports,
  Migration0048Downloads,
  Migration0049AppendOnlyLog,
  Migration0051MaintenanceRuns,
  Migration0052LogChecks,
  Migration0053RefreshGenerations,
  Migration0054Batches,
  Migration0055PolicyOrder,
  Migration0056LogPartitions,
  Migration0057Indexes,
  Migration0058DownloadsOfExports,
];

type ConcreteMigration = typeof Migration0001Tables;

/** A migration that removes or changes what an earlier release used. */
type ContractingMigration = ConcreteMigration & Pick<MigrationPlan, 'safeSince'>;

/** Returns a migration whose policies and grants name the given roles. */
function forRoles(Base: ConcreteMigration, roles: DatabaseRoles): Constructor<Migration> {
  return class extends Base {
    override addSql(statement: Parameters<Migration['addSql']>[0]): void {
      super.addSql(typeof statement === 'string' ? nameRoles(statement, roles) : statement);
    }
  };
}

/** Opens a connection as the owner, with the migrations registered. Callers must close it. */
export function connectOwner(ownerUrl: string, roles = defaultRoles): Promise<MikroORM> {
  return MikroORM.init({
    entities: [...entities],
    clientUrl: ownerUrl,
    driverOptions: {
      // MikroORM itself leaves out the parameters of the URL, such as sslmode.
      connectionString: ownerUrl,
      // Makes statements fail instead of skipping rows that row-level security hides from the
      // owner.
      options: '-c row_security=off',
    },
    extensions: [Migrator],
    // Entities describe neither triggers nor functions, so the comparison leaves both out.
    schemaGenerator: { ignoreTriggers: true, ignoreRoutines: true },
    migrations: {
      tableName: 'migrations',
      migrationsList: migrations.map((migration) => ({
        name: migration.name,
        class: forRoles(migration, roles),
      })),
      snapshot: false,
    },
    logger: () => undefined,
  });
}

/**
 * The last migration of the baseline. Those after it leave a database with which the release before
 * works: docs/adr/0036-expand-and-contract.md.
 */
export const baseline: string = Migration0058DownloadsOfExports.name;

/** Returns the SQL of all migrations, in the order in which they run. */
export function planMigrations(orm: MikroORM, roles = defaultRoles): readonly MigrationPlan[] {
  return migrations.map((Base) => {
    const migration = new Base(orm.em.getDriver(), orm.config);
    migration.up();
    const statements = migration.getQueries().map((query) => nameRoles(asText(query), roles));
    const { safeSince } = Base as ContractingMigration;
    const isTransactional = migration.isTransactional();
    return { name: Base.name, statements, isTransactional, safeSince };
  });
}

function asText(query: unknown): string {
  if (typeof query !== 'string') throw new TypeError('a migration adds SQL as text');
  return query;
}

/**
 * Runs the pending migrations, each as a transaction of its own unless it says otherwise, and
 * returns their names. `roles` must exist and must be the same in every call for a database.
 * Concurrent processes are safe: they wait for the one that migrates and then find nothing to do.
 * If it fails or is killed, the next call goes on.
 */
export async function migrate(ownerUrl: string, roles = defaultRoles): Promise<readonly string[]> {
  const orm = await connectOwner(ownerUrl, roles);
  const plans = planMigrations(orm, roles);
  await orm.close();
  return withOwnerSession(ownerUrl, (client) => runMigrations(client, plans, { roles }));
}
