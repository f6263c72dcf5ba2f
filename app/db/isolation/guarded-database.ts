import type { Database } from '../database.ts';
import type { Isolation } from './isolation.ts';

/**
 * Returns the database with transactions that throw database_unavailable unless users are known to
 * be isolated from each other.
 */
export function guardDatabase(db: Database, isolation: Pick<Isolation, 'assertKept'>): Database {
  return {
    async asUser(owner, work, options) {
      isolation.assertKept();
      return db.asUser(owner, work, options);
    },
    async asService(work, options) {
      isolation.assertKept();
      return db.asService(work, options);
    },
    ping: () => db.ping(),
    close: () => db.close(),
  };
}
