import type { Constructor } from '@mikro-orm/core';
import { Migrator, type Migration } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { defaultRoles, nameRoles, type DatabaseRoles } from '../columns/roles.ts';
import { Migration0001Baseline } from '../migrations/0001-baseline.ts';
import { withOwnerSession } from './owner-session.ts';
import type { MigrationPlan } from './plan.ts';
import { runMigrations } from './run-migrations.ts';
import { entities } from '../schema.ts';

/**
 * Migrations in the order in which they run. Migrations only run forward. Never edit a released
 * migration.
 */
const migrations: readonly ConcreteMigration[] = [Migration0001Baseline];

type ConcreteMigration = typeof Migration0001Baseline;

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
export const baseline: string = Migration0001Baseline.name;

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
