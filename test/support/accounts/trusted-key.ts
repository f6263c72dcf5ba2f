import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { Client } from 'pg';
import { until } from '../../../app/dev/processes/until.ts';
import type { TestVault, Vault } from '../vault/vault.ts';

/** A token key of the test's own, which unlike the signer signs any claims. */
export interface TrustedKey {
  readonly keyId: string;
  readonly publicKey: KeyObject;
  /** Signs a token that the vault accepts, except for what the arguments change. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

/** A vault with a database to which a key can be added. */
interface TrustingVault extends Pick<Vault, 'baseUrl' | 'databases'> {
  readonly config: { readonly auth: Pick<TestVault['config']['auth'], 'issuer' | 'audience'> };
}

const keySetPath = '/.well-known/jwks.json';

/** Adds a key to the vault's registry as if its HSM had generated it. */
export async function trustKey(vault: TrustingVault): Promise<TrustedKey> {
  const { baseUrl, config, databases } = vault;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const keyId = createHash('sha256').update(der).digest('hex').slice(0, 32);
  const client = new Client({ connectionString: databases.service });
  await client.connect();
  await client.query(
    `insert into signing_keys (key_id, purpose, algorithm, public_key, generation)
     values ($1, 'token', 'RS256', $2, 99)`,
    [keyId, der.toString('base64')],
  );
  await client.end();
  await until(async () => (await (await fetch(`${baseUrl}${keySetPath}`)).text()).includes(keyId), {
    what: 'the vault to look for new keys',
    timeoutMs: 60_000,
  });
  return {
    keyId,
    publicKey,
    sign(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000);
      const payload = { ...standardClaims(config.auth), iat: now, exp: now + 900, ...claims };
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: keyId, ...header })
        .sign(privateKey);
    },
  };
}

/** Returns the claims of a user with every scope, without times. */
export function standardClaims({ issuer, audience }: TrustingVault['config']['auth']) {
  return {
    iss: issuer,
    aud: audience,
    sub: '7f1c2b7e-0f6d-4c3a-9a55-0d7f2f6f5a01',
    jti: '7f1c2b7e-0f6d-4c3a-9a55-0d7f2f6f5a02',
    sid: '7f1c2b7e-0f6d-4c3a-9a55-0d7f2f6f5a03',
    tenant_id: 'default',
    plan: 'standard',
    authz: { roles: ['user'], scopes: allScopes },
  };
}

const allScopes = [
  'documents:read',
  'documents:write',
  'uploads:write',
  'keys:manage',
  'audit:read',
  'jobs:submit',
  'sync:read',
  'sync:write',
  'mfa:manage',
];
