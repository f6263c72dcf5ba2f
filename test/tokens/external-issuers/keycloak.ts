import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { z } from 'zod';
import { projectFile } from '../../../app/dev/files/project.ts';
import { issuersFile } from '../../support/issuers/issuers-file.ts';

const run = promisify(execFile);

/** Issuer URL of the realm that test/labs/keycloak-lab has started. */
const issuer = z
  .url({ error: 'KEYCLOAK_ISSUER is not set: eval "$(test/labs/keycloak-lab up)"' })
  .parse(process.env['KEYCLOAK_ISSUER']);

/** Seconds for which the keys of an unreachable Keycloak are used. */
export const maxAgeSeconds = 20;

/** The realm as a trusted issuer, which may grant less than it claims. */
export const realm = {
  issuer,
  jwksUri: `${issuer}/protocol/openid-connect/certs`,
  audience: 'probatio',
  grants: { roles: ['user', 'auditor'], scopes: ['documents:read'], tenants: ['default'] },
  keyCache: { maxAgeSeconds, refreshSeconds: 2, coolDownSeconds: 1 },
};

export function realmFile(t: ExecutionContext): Promise<string> {
  return issuersFile(t, [realm]);
}

const Tokens = z.object({
  access_token: z.string(),
  id_token: z.string(),
  refresh_token: z.string(),
});

/**
 * Logs in as Alice, who has the tenant `default` and claims more than the realm may grant, or as
 * Bob, who has no tenant.
 */
export async function logInAt(
  client: 'probatio-web' | 'other-web',
  username: 'alice' | 'bob',
): Promise<z.output<typeof Tokens>> {
  const response = await fetch(`${issuer}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      scope: 'openid',
      client_id: client,
      username,
      password: `${username}-password`,
    }),
  });
  return Tokens.parse(await response.json());
}

export async function stopKeycloak(): Promise<void> {
  await run(projectFile('test/labs/keycloak-lab'), ['down']);
}

/** Starts Keycloak again, with new keys. */
export async function startKeycloak(): Promise<void> {
  await run(projectFile('test/labs/keycloak-lab'), ['up']);
}
