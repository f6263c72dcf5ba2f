import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { newAccount } from '../../../app/accounts/new-account.ts';
import { prime, toBigInt } from '../../../app/srp/group.ts';

/** Accounts inserted directly into the database, some with an unused validation token. */
export interface People {
  /** E-mail addresses of active accounts. */
  readonly active: readonly string[];
  /** Single-use tokens that validate an e-mail address. */
  readonly tokens: readonly string[];
}

export async function insertPeople(
  serviceUrl: string,
  counts: { readonly active: number; readonly tokens: number },
): Promise<People> {
  const client = new Client({ connectionString: serviceUrl });
  await client.connect();
  try {
    const active = await insertAccounts(client, counts.active, 'ACTIVE');
    await client.query(
      `insert into credentials (account_id, salt, verifier)
       select id, $1, $2 from accounts where status = 'ACTIVE'`,
      [randomSalt(), randomVerifier()],
    );
    await insertAccounts(client, counts.tokens, 'PENDING_VALIDATION');
    return { active, tokens: await insertTokens(client) };
  } finally {
    await client.end();
  }
}

async function insertAccounts(client: Client, count: number, status: string): Promise<string[]> {
  const { rows } = await client.query<{ readonly email: string }>(
    `insert into accounts (id, email, status, tenant_id, plan, roles, scopes)
     select gen_random_uuid(), gen_random_uuid() || '@vault.test', $2, $3, $4, $5, $6
     from generate_series(1, $1) returning email`,
    [count, status, newAccount.tenant_id, newAccount.plan, newAccount.roles, newAccount.scopes],
  );
  return rows.map(({ email }) => email);
}

async function insertTokens(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ readonly id: string }>(
    "select id from accounts where status = 'PENDING_VALIDATION'",
  );
  const tokens = rows.map(() => randomUUID());
  await client.query(
    `insert into registrations (id, account_id, salt, verifier, token_hash, expires_at)
     select gen_random_uuid(), account_id, $3, $4, token_hash, now() + interval '1 hour'
     from unnest($1::uuid[], $2::text[]) as pending (account_id, token_hash)`,
    [
      rows.map(({ id }) => id),
      tokens.map((token) => createHash('sha3-256').update(token).digest('hex')),
      randomSalt(),
      randomVerifier(),
    ],
  );
  return tokens;
}

export function randomSalt(): string {
  return randomBytes(32).toString('hex');
}

/** Returns a random group element as 768 hex digits. Nobody can log in with it. */
export function randomVerifier(): string {
  return (toBigInt(randomBytes(400)) % prime).toString(16).padStart(768, '0');
}
