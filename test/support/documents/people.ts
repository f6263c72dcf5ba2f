import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { PublicIdentity } from '../../../app/identities/public-identity.ts';
import type { TokenSubject } from '../../../app/tokens/access-token.ts';
import { newSharingKey, putKey } from './sharing-keys.ts';
import { createApi, type Answer, type Api } from './uploads.ts';
import { createSql } from '../vault/sql.ts';
import type { Vault } from '../vault/vault.ts';

/** A user with an account. Documents can be shared with a user who has an identity. */
export interface Person {
  readonly api: Api;
  readonly userId: string;
  readonly email: string;
}

/** Creates an account directly in the database, without the cost of a registration and a login. */
export async function createPerson(
  vault: Vault,
  as: Partial<TokenSubject> = {},
  status = 'ACTIVE',
): Promise<Person> {
  const api = await createApi(vault, as);
  const { userId, tenantId, plan, roles, scopes } = api.caller;
  const email = strangersAddress();
  await createSql(vault)(
    `insert into accounts (id, tenant_id, email, status, plan, roles, scopes)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [userId, tenantId, email, status, plan, roles, scopes],
  );
  return { api, userId, email };
}

/** Creates an account with an identity. */
export async function createRecipient(
  t: ExecutionContext,
  vault: Vault,
  as: Partial<TokenSubject> = {},
): Promise<Person & PublicIdentity> {
  const person = await createPerson(vault, as);
  const json = newSharingKey();
  t.is((await putKey(person.api, json)).status, 200);
  const { publicKey, signingKey } = json;
  return { ...person, publicKey, signingKey };
}

export function strangersAddress(): string {
  return `${randomUUID()}@example.org`;
}

export const askKey = (api: Api, recipientEmail: string): Promise<Answer> =>
  api.send('POST', '/v1/documents/share-key', { json: { recipientEmail } });

export const aShare = {
  wrappedKey: Buffer.from('the document key, wrapped').toString('base64'),
  permissions: ['read'],
};

export function share(api: Api, documentId: string, fields: object): Promise<Answer> {
  return api.send('POST', `/v1/documents/${documentId}/share`, { json: { ...aShare, ...fields } });
}

/** Makes a share expire now. */
export async function endShare(vault: Vault, shareId: unknown): Promise<void> {
  await createSql(vault)('update document_shares set expires_at = now() where id = $1', [shareId]);
}

/** Returns the audit entries of a resource, in order. */
export async function entriesOf(vault: Vault, resourceId: string): Promise<unknown[]> {
  const rows = await createSql(vault)(
    'select canonical from audit_entries where resource_id = $1 order by seq',
    [resourceId],
  );
  return rows.map(({ canonical }) => JSON.parse(String(canonical)) as unknown);
}
