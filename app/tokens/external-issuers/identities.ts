import { v7 as uuidv7 } from 'uuid';
import type { Database, Tx } from '../../db/database.ts';

/** A user as another issuer names them. */
interface Subject {
  readonly issuer: string;
  readonly subject: string;
}

const cachedIdentities = 10_000;

/** Creates the service that gives users of other issuers an internal user id. */
export function createIdentities(db: Database) {
  const cache = new Map<string, string>();

  function keep(key: string, userId: string): void {
    const [oldest] = cache.keys();
    if (oldest !== undefined && cache.size >= cachedIdentities) cache.delete(oldest);
    cache.set(key, userId);
  }

  return {
    /**
     * Resolves with the internal user id of a subject, which is created at the first call and never
     * changes.
     */
    async identify(subject: Subject): Promise<string> {
      const key = JSON.stringify([subject.issuer, subject.subject]);
      const cached = cache.get(key);
      if (cached !== undefined) return cached;
      const userId = await db.asService(
        async (tx) => (await findUser(tx, subject)) ?? addUser(tx, subject),
      );
      keep(key, userId);
      return userId;
    },
  };
}

/** Finds the `sub` that another issuer gives to a user; undefined if it is no user of `issuer`. */
export async function findSubject(
  tx: Tx,
  { userId, issuer }: { readonly userId: string; readonly issuer: string },
): Promise<string | undefined> {
  const row = await tx
    .selectFrom('identities')
    .select('subject')
    .where('user_id', '=', userId)
    .where('issuer', '=', issuer)
    .executeTakeFirst();
  return row?.subject;
}

async function findUser(tx: Tx, { issuer, subject }: Subject): Promise<string | undefined> {
  const row = await tx
    .selectFrom('identities')
    .select('user_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst();
  return row?.user_id;
}

/**
 * Adds a user. Of concurrent calls for one user, the first call inserts the row; the other calls
 * wait for its commit and find the row.
 */
async function addUser(tx: Tx, { issuer, subject }: Subject): Promise<string> {
  await tx
    .insertInto('identities')
    .values({ user_id: uuidv7(), issuer, subject })
    .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
    .execute();
  const userId = await findUser(tx, { issuer, subject });
  if (userId === undefined) throw new Error('the identity that was just added cannot be found');
  return userId;
}
