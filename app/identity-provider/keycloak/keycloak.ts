import type { z } from 'zod';
import type { Clock } from '../../async/clock.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Log } from '../../telemetry/log.ts';
import type { IdentityProvider } from '../identity-provider.ts';
import { createAdminToken, type KeycloakClient } from './admin-token.ts';
import { exchange, type ProviderAnswer } from './exchange.ts';
import { createPasswordCheck } from './password-check.ts';
import { createPatience } from './patience.ts';
import {
  Credentials,
  parseAnswer,
  toRepresentation,
  toSecondFactors,
  User,
  Users,
} from './representations.ts';

export interface KeycloakOptions {
  /** The URL of the server, without `/realms`. */
  readonly url: string;
  readonly realm: string;
  /** The `iss` of the realm's tokens. */
  readonly issuer: string;
  /** The path of the group whose members alone `admin` may manage; all users if undefined. */
  readonly group: string | undefined;
  /** The client whose service account may manage users. */
  readonly admin: KeycloakClient;
  /** The client that checks passwords, if passwords are checked. */
  readonly passwords: KeycloakClient | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

interface AdminCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Segments of the path below the realm's users. */
  readonly path?: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly expects: readonly number[];
}

/** Creates the adapter for Keycloak's admin REST API. It sends nothing before it is used. */
export function createKeycloak(options: KeycloakOptions): IdentityProvider {
  const { url, realm, issuer, group, admin, passwords, clock, log } = options;
  const name = encodeURIComponent(realm);
  const openid = (endpoint: string) =>
    new URL(`${url}/realms/${name}/protocol/openid-connect/${endpoint}`);
  const tokenUrl = openid('token');
  const adminToken = createAdminToken({ tokenUrl, client: admin });
  const patience = createPatience(log);

  function urlOf({ path = [], query = {} }: AdminCall): URL {
    const segments = ['users', ...path].map((segment) => `/${encodeURIComponent(segment)}`);
    const target = new URL(`${url}/admin/realms/${name}${segments.join('')}`);
    target.search = new URLSearchParams(query).toString();
    return target;
  }

  async function attempt(
    request: AdminCall,
    deadline: AbortSignal,
    isLast = false,
  ): Promise<ProviderAnswer> {
    const token = await adminToken.get(deadline);
    const { method, body, expects } = request;
    const answer = await exchange(
      {
        method,
        url: urlOf(request),
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        expects: isLast ? expects : [...expects, 401],
      },
      deadline,
    );
    if (answer.status !== 401) return answer;
    adminToken.forget(token);
    return attempt(request, deadline, true);
  }

  const call = (request: AdminCall, deadline: AbortSignal): Promise<ProviderAnswer> =>
    patience.repeat(() => attempt(request, deadline), deadline);

  /**
   * Finds what the provider says about a user. Users outside of the group are none of the vault's:
   * they must not be mistaken for a failure, which would keep others from their users.
   */
  async function find(path: readonly string[], deadline: AbortSignal): Promise<unknown> {
    const none = group === undefined ? [404] : [403, 404];
    const request = { method: 'GET', path, expects: [200, ...none] } as const;
    const { status, body } = await call(request, deadline);
    return status === 200 ? body : undefined;
  }

  async function findUser(username: string, deadline: AbortSignal) {
    const query = { username, exact: 'true', briefRepresentation: 'true' };
    const { body } = await call({ method: 'GET', query, expects: [200] }, deadline);
    return parseAnswer(Users, body).find((user) => user.username === username);
  }

  /**
   * Returns whether a user is one that the vault created: it has neither an e-mail address nor a
   * password. Somebody may have registered at the provider under the name.
   */
  async function isOwn({ id, email }: z.output<typeof User>, deadline: AbortSignal) {
    if (email !== undefined) return false;
    const path = [id, 'credentials'];
    const { body } = await call({ method: 'GET', path, expects: [200] }, deadline);
    return parseAnswer(Credentials, body).every(({ type }) => type !== 'password');
  }

  async function createUser(username: string, deadline: AbortSignal): Promise<string> {
    const groups = group === undefined ? {} : { groups: [group] };
    const body = { username, enabled: true, ...groups };
    await call({ method: 'POST', body, expects: [201, 409] }, deadline);
    const user = await findUser(username, deadline);
    if (user !== undefined && (await isOwn(user, deadline))) return user.id;
    const problem = 'the identity provider has no user of the vault under the name of an account';
    log.error(problem);
    throw new AppError('identity_provider_unavailable', { cause: new Error(problem) });
  }

  async function findName(subject: string, deadline: AbortSignal) {
    const body = await find([subject], deadline);
    return body === undefined ? undefined : parseAnswer(User, body).username;
  }

  return {
    issuer,
    findName,
    createUser,
    findSubject: async (username, deadline) => (await findUser(username, deadline))?.id,

    async findFactors(subject, deadline) {
      const body = await find([subject, 'credentials'], deadline);
      return body === undefined ? undefined : toSecondFactors(body);
    },

    async putFactors(subject, factors, deadline) {
      const body = toRepresentation(factors, clock());
      await call({ method: 'PUT', path: [subject], body, expects: [204] }, deadline);
    },

    async removeFactor(subject, id, deadline) {
      const path = [subject, 'credentials', id];
      await call({ method: 'DELETE', path, expects: [204, 404] }, deadline);
    },

    async removeUser(subject, deadline) {
      await call({ method: 'DELETE', path: [subject], expects: [204, 404] }, deadline);
    },

    checkPassword:
      passwords === undefined
        ? undefined
        : createPasswordCheck({
            tokenUrl,
            logoutUrl: openid('logout'),
            client: passwords,
            findName,
            patience,
            log,
          }),
  };
}
