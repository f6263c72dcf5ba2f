import { v7 as uuidv7 } from 'uuid';
import type { Database, Tx } from '../../db/database.ts';

/** Whom another issuer means. */
interface Subject {
  readonly issuer: string;
  readonly subject: string;
}

/** The users of other issuers. */
interface Identities {
  /** The internal user id: made at first sight, then the same for ever. */
  identify(subject: Subject): Promise<string>;
}

const cachedIdentities = 10_000;

export function createIdentities(db: Database): Identities {
  const cache = new Map<string, string>();

  function keep(key: string, userId: string): void {
    const [oldest] = cache.keys();
    if (oldest !== undefined && cache.size >= cachedIdentities) cache.delete(oldest);
    cache.set(key, userId);
  }

  return {
    async identify(subject) {
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

async function findUser(tx: Tx, { issuer, subject }: Subject): Promise<string | undefined> {
  const row = await tx
    .selectFrom('identities')
    .select('user_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst();
  return row?.user_id;
}

/** Of several at once the first to commit wins; the others wait for it and find its row. */
async function addUser(tx: Tx, { issuer, subject }: Subject): Promise<string> {
  await tx
    .insertInto('identities')
    .values({ user_id: uuidv7(), issuer, subject })
    .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
    .execute();
  const userId = await findUser(tx, { issuer, subject });
  if (userId === undefined) throw new Error('an identity vanished as it was added');
  return userId;
}
