import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { realmVariables } from '../../../app/dev/identity-provider/realm.ts';
import { startStandIn } from '../../../app/dev/identity-provider/stand-in.ts';
import { issuersFile } from '../issuers/issuers-file.ts';
import { startKeyServer } from '../issuers/key-server.ts';
import { createSigningKey } from '../issuers/signing-key.ts';
import { testIssuer } from '../issuers/test-issuer.ts';
import { createSql } from '../vault/sql.ts';
import { startReadyVault, type TestVault } from '../vault/vault.ts';
import { startFaultyProvider, type FaultyProvider } from './faulty-provider.ts';
import { asMfaUser, type MfaUser } from './mfa-user.ts';

/** A vault whose identity provider has users of its own, with passwords. */
export interface RealmVault {
  readonly vault: TestVault;
  /** The way to the provider, which a test may break. */
  readonly provider: FaultyProvider;
  /** Returns a user of the provider with this subject, or of another issuer. */
  user(options?: { readonly subject?: string; readonly isOther?: boolean }): Promise<MfaUser>;
}

export const realmUser = {
  id: randomUUID(),
  username: 'carol',
  password: 'carol-password',
} as const;

/** A user of the provider outside of the group that the vault manages. */
export const outsider = { ...realmUser, id: randomUUID(), username: 'dora', isOutside: true };

export async function startRealmVault(
  t: ExecutionContext,
  settings: NodeJS.ProcessEnv = {},
): Promise<RealmVault> {
  const standIn = await startStandIn({ port: 0, users: [realmUser, outsider] });
  t.teardown(() => standIn.stop());
  const server = await startKeyServer();
  t.teardown(() => server.close());
  const key = await createSigningKey();
  server.publish(key.jwk);
  const provider = await startFaultyProvider(standIn.url);
  t.teardown(() => provider.stop());
  const variables = realmVariables(provider.url);
  const entry = {
    ...testIssuer(server.url),
    issuer: `${provider.url}/realms/${variables['MFA_KEYCLOAK_REALM']}`,
    grants: { roles: ['user'], scopes: ['mfa:manage'], tenants: ['one'] },
  };
  const other = { ...entry, issuer: 'https://other.test' };
  const vault = await startReadyVault({
    ...variables,
    AUTH_ISSUERS_FILE: await issuersFile(t, [entry, other]),
    ...settings,
  });
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  return {
    vault,
    provider,
    async user({ subject = realmUser.id, isOther = false } = {}) {
      const issuer = isOther ? other.issuer : entry.issuer;
      const exp = Math.floor(Date.now() / 1000) + 300;
      const authz = { roles: ['user'], scopes: ['mfa:manage'] };
      const claims = { iss: issuer, aud: entry.audience, exp, sub: subject, tenant_id: 'one' };
      const token = await key.sign({ ...claims, authz });
      // The first request gives the subject its internal id.
      await asMfaUser(vault, { userId: '', token }).status();
      const [row] = await sql('select user_id from identities where issuer = $1 and subject = $2', [
        issuer,
        subject,
      ]);
      return asMfaUser(vault, { userId: String(row?.['user_id']), token });
    },
  };
}
