import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { newAccount } from '../../../app/accounts/new-account.ts';
import { passwordRow } from '../../../app/accounts/credential-rows.ts';
import type { RowCipher } from '../../../app/encryption/row-cipher.ts';
import { envelopeRow } from '../../../app/envelopes/rows.ts';

const perStatement = 1_000;

/** The values of every inserted account, by which its rows are recognised once decrypted. */
const credential = { salt: 'ab'.repeat(32), verifier: 'cd'.repeat(384) };
const envelope = { wrappedKey: Buffer.alloc(40, 7).toString('base64') };

/** Inserts active accounts, each with a password and a master envelope, as the app stores them. */
export async function insertAccounts(
  client: Client,
  cipher: RowCipher,
  count: number,
): Promise<void> {
  for (let inserted = 0; inserted < count; inserted += perStatement) {
    const rows = Array.from({ length: Math.min(perStatement, count - inserted) }, () => {
      const [id, envelopeId] = [randomUUID(), randomUUID()];
      return {
        id,
        envelopeId,
        credential: cipher.encrypt(passwordRow(id), credential),
        envelope: cipher.encrypt(envelopeRow({ id: envelopeId, user_id: id }), envelope),
      };
    });
    await insertRows(client, rows);
  }
}

type Rows = readonly {
  readonly id: string;
  readonly envelopeId: string;
  readonly credential: ReturnType<RowCipher['encrypt']>;
  readonly envelope: ReturnType<RowCipher['encrypt']>;
}[];

async function insertRows(client: Client, rows: Rows): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await client.query(
    `insert into accounts (id, email, status, tenant_id, plan, roles, scopes)
     select id, id || '@inserted.test', 'ACTIVE', $2, $3, $4, $5 from unnest($1::uuid[]) id`,
    [ids, newAccount.tenant_id, newAccount.plan, newAccount.roles, newAccount.scopes],
  );
  await client.query(
    `insert into credentials (account_id, key_generation, salt, verifier)
     select * from unnest($1::uuid[], $2::int[], $3::text[], $4::text[])`,
    [
      ids,
      rows.map((row) => row.credential.generation),
      rows.map((row) => row.credential.values['salt']),
      rows.map((row) => row.credential.values['verifier']),
    ],
  );
  await client.query(
    `insert into key_envelopes (id, user_id, tenant_id, kind, key_generation, encrypted_envelope)
     select id, user_id, $5, 'MASTER', generation, wrapped
     from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[]) as row (id, user_id, generation,
       wrapped)`,
    [
      rows.map((row) => row.envelopeId),
      ids,
      rows.map((row) => row.envelope.generation),
      rows.map((row) => row.envelope.values['wrappedKey']),
      newAccount.tenant_id,
    ],
  );
}

interface StoredAccount {
  readonly id: string;
  readonly generation: number;
  readonly salt: string;
  readonly verifier: string;
  readonly envelopeId: string;
  readonly envelopeGeneration: number;
  readonly wrapped: string;
}

/**
 * Returns the ids of inserted accounts whose rows do not decrypt to what was inserted. Reads them
 * in pages, so that a vault in this process goes on.
 */
export async function findDamaged(client: Client, cipher: RowCipher): Promise<string[]> {
  const damaged: string[] = [];
  let last: string | undefined = '00000000-0000-0000-0000-000000000000';
  while (last !== undefined) {
    const rows: readonly StoredAccount[] = await readPage(client, last);
    damaged.push(...rows.filter((row) => !isWhole(cipher, row)).map(({ id }) => id));
    last = rows.at(-1)?.id;
  }
  return damaged;
}

async function readPage(client: Client, after: string): Promise<readonly StoredAccount[]> {
  const { rows } = await client.query<StoredAccount>(
    `select a.id, c.key_generation as generation, salt, verifier, k.id as "envelopeId",
       k.key_generation as "envelopeGeneration", encrypted_envelope as wrapped
     from accounts a join credentials c on c.account_id = a.id join key_envelopes k
       on k.user_id = a.id where email like '%@inserted.test' and a.id > $1
     order by a.id limit 200`,
    [after],
  );
  return rows;
}

function isWhole(cipher: RowCipher, row: StoredAccount): boolean {
  const { id, generation, salt, verifier, envelopeId, envelopeGeneration, wrapped } = row;
  try {
    const password = cipher.decrypt(passwordRow(id), { generation, values: { salt, verifier } });
    const { wrappedKey } = cipher.decrypt(envelopeRow({ id: envelopeId, user_id: id }), {
      generation: envelopeGeneration,
      values: { wrappedKey: wrapped },
    });
    return password.verifier === credential.verifier && wrappedKey === envelope.wrappedKey;
  } catch {
    return false;
  }
}
