import type { Owner, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { CredentialMethod } from '../db/tables/accounts.ts';

/** Hex. */
export interface Credential {
  readonly salt: string;
  readonly verifier: string;
}

/** Locks an account until the transaction, the service's, ends. Throws invalid_token unless it is active. */
export async function holdAccount(tx: Tx, { userId, tenantId }: Owner): Promise<void> {
  const account = await tx
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'ACTIVE')
    .forUpdate()
    .executeTakeFirst();
  if (account === undefined) throw new AppError('invalid_token');
}

/** Sets what an account logs in with by one method, in place of what it had. */
export async function storeCredential(
  tx: Tx,
  { userId }: Owner,
  method: CredentialMethod,
  { salt, verifier }: Credential,
  now: Date,
): Promise<void> {
  await tx
    .insertInto('credentials')
    .values({ account_id: userId, method, salt, verifier, created_at: now })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'method']).doUpdateSet({ salt, verifier, created_at: now }),
    )
    .execute();
}
