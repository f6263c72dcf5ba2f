import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { passwordRow } from '../../../app/accounts/credential-rows.ts';
import { newAccount } from '../../../app/accounts/new-account.ts';
import type { RowCipher } from '../../../app/encryption/row-cipher.ts';
import { registrationRow } from '../../../app/registration/registration-encryption.ts';
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
  cipher: RowCipher,
  counts: { readonly active: number; readonly tokens: number },
): Promise<People> {
  const client = new Client({ connectionString: serviceUrl });
  await client.connect();
  try {
    const active = await insertAccounts(client, counts.active, 'ACTIVE');
    await insertCredentials(client, cipher);
    await insertAccounts(client, counts.tokens, 'PENDING_VALIDATION');
    return { active, tokens: await insertTokens(client, cipher) };
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

async function insertCredentials(client: Client, cipher: RowCipher): Promise<void> {
  const credential = { salt: randomSalt(), verifier: randomVerifier() };
  for (const id of await idsOf(client, 'ACTIVE')) {
    const { generation, values } = cipher.encrypt(passwordRow(id), credential);
    await client.query(
      `insert into credentials (account_id, key_generation, salt, verifier)
       values ($1, $2, $3, $4)`,
      [id, generation, values.salt, values.verifier],
    );
  }
}

async function idsOf(client: Client, status: string): Promise<string[]> {
  const { rows } = await client.query<{ readonly id: string }>(
    'select id from accounts where status = $1',
    [status],
  );
  return rows.map(({ id }) => id);
}

async function insertTokens(client: Client, cipher: RowCipher): Promise<string[]> {
  const credential = { salt: randomSalt(), verifier: randomVerifier() };
  const rows = (await idsOf(client, 'PENDING_VALIDATION')).map((userId) => {
    const id = randomUUID();
    return Object.assign({ id, userId }, cipher.encrypt(registrationRow(id, userId), credential));
  });
  const tokens = rows.map(() => randomUUID());
  await client.query(
    `insert into registrations
       (id, account_id, key_generation, salt, verifier, token_hash, expires_at)
     select id, account_id, generation, salt, verifier, token_hash, now() + interval '1 hour'
     from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[])
       as pending (id, account_id, generation, salt, verifier, token_hash)`,
    [
      rows.map(({ id }) => id),
      rows.map(({ userId }) => userId),
      rows.map(({ generation }) => generation),
      rows.map(({ values }) => values.salt),
      rows.map(({ values }) => values.verifier),
      tokens.map((token) => createHash('sha3-256').update(token).digest('hex')),
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
