import { randomUUID } from 'node:crypto';
import type { Config } from '../../../config/config.ts';
import { fail, ok, type Step, type Verdict } from '../steps/steps.ts';

type KeycloakConfig = NonNullable<Config['mfa']['keycloak']>;

interface TokenAnswer {
  readonly status: number;
  readonly body: { readonly access_token?: string; readonly error?: string };
}

const requestMs = 8_000;

/**
 * Examines the identity provider that keeps second factors: its realm, the two clients, and what
 * the service account may do. Reads nothing of a user and changes nothing.
 */
export function mfaSteps({ url, realm, group, admin, passwords }: KeycloakConfig): readonly Step[] {
  const of = {
    what: 'the identity provider',
    address: 'MFA_KEYCLOAK_URL',
    credentials: 'MFA_KEYCLOAK_CLIENT_ID and MFA_KEYCLOAK_CLIENT_SECRET',
    part: 'realm',
  };
  const name = encodeURIComponent(realm);

  async function askToken(
    client: { readonly id: string; readonly secret: string },
    parameters: Readonly<Record<string, string>>,
  ): Promise<TokenAnswer> {
    const identified = { client_id: client.id, client_secret: client.secret, ...parameters };
    const response = await fetch(`${url}/realms/${name}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(identified),
      redirect: 'error',
      signal: AbortSignal.timeout(requestMs),
    });
    return { status: response.status, body: await readJson(response) };
  }

  /** Asks what the service account may see or, with a body, do below the realm. */
  async function askAdmin(path: string, body?: object): Promise<number> {
    const { status } = await fetch(`${url}/admin/realms/${name}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(requestMs),
    });
    return status;
  }

  /** Rights to give, so that the service account may see users, and manage them. */
  const missing =
    group === undefined
      ? { query: 'the role manage-users', manage: 'the role manage-users' }
      : {
          query: 'the role query-users, and put it into the scope of the client',
          manage: 'the permissions over the group of MFA_KEYCLOAK_GROUP',
        };
  let token = '';
  return [
    {
      name: 'mfa.client',
      of,
      async run() {
        const { status, body } = await askToken(admin, { grant_type: 'client_credentials' });
        token = body.access_token ?? '';
        if (status === 200 && token !== '') return ok('the identity provider accepts the client');
        return refusedClient(status, of.credentials);
      },
    },
    {
      name: 'mfa.rights',
      needs: ['mfa.client'],
      of,
      async run() {
        // No user has this name.
        const query = new URLSearchParams({ username: randomUUID(), exact: 'true' }).toString();
        const seen = await askAdmin(`/users?${query}`);
        if (seen !== 200) return refusedRights(seen, 'see users', missing.query);
        // Keycloak looks at the rights first, and then refuses a user without a name.
        const groups = group === undefined ? {} : { groups: [group] };
        const made = await askAdmin('/users', groups);
        if (made === 400) return ok('the service account of the client may manage users');
        return refusedRights(made, 'manage users', missing.manage);
      },
    },
    ...(group === undefined
      ? []
      : [
          {
            name: 'mfa.group',
            needs: ['mfa.client'],
            of,
            async run() {
              const path = group.split('/').map(encodeURIComponent).join('/');
              const status = await askAdmin(`/group-by-path${path}`);
              if (status === 200) return ok('the service account of the client sees its group');
              return fail(
                `the identity provider responds ${status} for the group: create it, correct ` +
                  'MFA_KEYCLOAK_GROUP, or give the client its rights, as docs/mfa.md says',
              );
            },
          },
        ]),
    ...(passwords === undefined
      ? []
      : [
          {
            name: 'mfa.passwords',
            needs: ['mfa.client'],
            of,
            async run() {
              // No user has this name, so that no wrong password is counted.
              const username = randomUUID();
              const grant = { grant_type: 'password', username, password: username };
              const { status, body } = await askToken(passwords, grant);
              if (body.error === 'invalid_grant') {
                return ok('the identity provider checks passwords for the client');
              }
              const variables =
                'MFA_KEYCLOAK_PASSWORD_CLIENT_ID and MFA_KEYCLOAK_PASSWORD_CLIENT_SECRET';
              return refusedClient(status, variables);
            },
          },
        ]),
  ];
}

function refusedRights(status: number, what: string, missing: string): Verdict {
  return fail(
    `the identity provider responds ${status} to the service account, which shall ${what}: give ` +
      `it ${missing}, as docs/mfa.md says`,
  );
}

function refusedClient(status: number, variables: string): Verdict {
  if (status === 404) {
    return fail(
      'the identity provider has no such realm: create it, or correct MFA_KEYCLOAK_REALM or ' +
        'MFA_KEYCLOAK_URL',
    );
  }
  if (status === 400 || status === 401) {
    return fail(
      `the identity provider refuses the client: correct ${variables}, or what the client may ` +
        'do, as docs/mfa.md says',
    );
  }
  return fail(`the identity provider responds ${status} to the client: see its own log`);
}

async function readJson(response: Response): Promise<TokenAnswer['body']> {
  const text = await response.text();
  try {
    return JSON.parse(text) as TokenAnswer['body'];
  } catch {
    return {};
  }
}
