import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { decodeJwt } from 'jose';
import { until } from '../../../app/dev/processes/until.ts';
import { reauthToken } from './reauth-account.ts';
import { send, type JsonAnswer } from '../http/send.ts';
import { createApi, type Api } from '../documents/uploads.ts';
import { createSql } from '../vault/sql.ts';
import type { Vault } from '../vault/vault.ts';
import { createAccount, openSession, type TestAccount } from './test-account.ts';

/** A user with an account, which they may close. */
export interface Member {
  readonly account: TestAccount;
  readonly userId: string;
  readonly token: string;
  readonly refreshToken: string;
  /**
   * Requests of this user with a token that no closure revokes, like one checked just before the
   * closure.
   */
  readonly api: Api;
}

export async function createMember(vault: Vault): Promise<Member> {
  const account = await createAccount(vault);
  const { accessToken: token, refreshToken } = await openSession(vault, account);
  const userId = decodeJwt(token).sub ?? '';
  return { account, userId, token, refreshToken, api: await createApi(vault, { userId }) };
}

/** Reauthenticates the user. Resolves with a function that closes the account. */
export async function prepareToClose(
  vault: Vault,
  { account, token }: Member,
  path = '/v1/auth/account',
): Promise<() => Promise<JsonAnswer>> {
  const headers = { 'X-Reauth-Token': await reauthToken(vault, account, token) };
  return () => send('DELETE', `${vault.baseUrl}${path}`, { token, headers });
}

export async function close(vault: Vault, member: Member, path?: string): Promise<JsonAnswer> {
  return (await prepareToClose(vault, member, path))();
}

export async function createEnvelope(t: ExecutionContext, api: Api): Promise<void> {
  const json = { encryptedEnvelope: randomBytes(40).toString('base64') };
  const { status } = await api.send('POST', '/v1/crypto/keys/master-envelope', { json });
  t.is(status, 201);
}

/** Counts a user's rows in each table that a closure empties; leaves zero counts out. */
export async function rowsOf(
  vault: Vault,
  userId: string,
): Promise<Partial<Record<string, number>>> {
  const [counts = {}] = await createSql(vault)(
    `select
      (select count(*) from document_versions where user_id = $1 and status = 'SEALED') as sealed,
      (select count(*) from document_versions
         where user_id = $1 and status <> 'SEALED') as unsealed,
      (select count(*) from documents d where user_id = $1 and not exists (
        select from document_versions v where v.document_id = d.id and v.version = d.version
      )) as without_current_version,
      (select count(*) from document_keywords where user_id = $1) as keywords,
      (select count(*) from upload_sessions where user_id = $1) as uploads,
      (select count(*) from upload_parts where user_id = $1) as parts,
      (select count(*) from key_envelopes where user_id = $1) as envelopes,
      (select count(*) from credentials where account_id = $1) as credentials,
      (select count(*) from registrations where account_id = $1) as registrations,
      (select count(*) from known_addresses where account_id = $1) as addresses,
      (select count(*) from login_sessions where user_id = $1 and revoked_at is null) as logins`,
    [userId],
  );
  const numbers = Object.entries(counts).map(([name, count]) => [name, Number(count)] as const);
  return Object.fromEntries(numbers.filter(([, count]) => count > 0));
}

/** Runs the sweep of a closed account now, and waits until it is done. */
export async function sweepNow(vault: Vault): Promise<void> {
  const sql = createSql(vault);
  const promised = await sql(
    `update outbox set available_at = now() where kind = 'account.sweep' returning id`,
  );
  const ids = promised.map(({ id }) => id);
  await until(
    async () => (await sql('select 1 from outbox where id = any($1)', [ids])).length === 0,
    { what: 'the sweep', timeoutMs: 60_000 },
  );
}
