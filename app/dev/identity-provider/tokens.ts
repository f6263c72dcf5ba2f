import { randomUUID } from 'node:crypto';
import { UnsecuredJWT } from 'jose';
import { standInClients } from './realm.ts';
import type { Answer } from './answer.ts';
import type { Users } from './users.ts';

interface TokensOptions {
  readonly users: Users;
  /** Seconds that tokens of the service account live. */
  readonly seconds: number;
}

/** Opens the token endpoint, with the grants that the vault uses. */
export function openTokens({ users, seconds }: TokensOptions) {
  const endsAt = new Map<string, number>();
  const sessions = new Set<string>();

  function grantAdmin(): Answer {
    const token = randomUUID();
    endsAt.set(token, performance.now() + seconds * 1000);
    return {
      status: 200,
      body: {
        access_token: token,
        expires_in: seconds,
        refresh_expires_in: 0,
        token_type: 'Bearer',
      },
    };
  }

  function grantByPassword(parameters: URLSearchParams): Answer {
    const user = users.findByName(parameters.get('username') ?? '');
    const { id: sub, password } = user ?? {};
    if (sub === undefined || password === undefined || parameters.get('password') !== password) {
      return refuse(400, 'invalid_grant');
    }
    const refreshToken = randomUUID();
    sessions.add(refreshToken);
    const accessToken = new UnsecuredJWT({ sub, typ: 'Bearer' }).encode();
    return {
      status: 200,
      body: { access_token: accessToken, expires_in: 300, refresh_token: refreshToken },
    };
  }

  return {
    isValid: (token: string): boolean => (endsAt.get(token) ?? 0) > performance.now(),

    grant(parameters: URLSearchParams): Answer {
      const { admin, passwords } = standInClients;
      const grant = parameters.get('grant_type');
      if (isClient(admin, parameters) && grant === 'client_credentials') return grantAdmin();
      if (isClient(passwords, parameters) && grant === 'password') {
        return grantByPassword(parameters);
      }
      return refuse(401, 'unauthorized_client');
    },

    end(parameters: URLSearchParams): Answer {
      if (!isClient(standInClients.passwords, parameters)) return refuse(401, 'invalid_client');
      const isKnown = sessions.delete(parameters.get('refresh_token') ?? '');
      return isKnown ? { status: 204 } : refuse(400, 'invalid_grant');
    },
  };
}

interface Client {
  readonly id: string;
  readonly secret: string;
}

function isClient({ id, secret }: Client, parameters: URLSearchParams): boolean {
  return parameters.get('client_id') === id && parameters.get('client_secret') === secret;
}

function refuse(status: number, error: string): Answer {
  return { status, body: { error, error_description: 'refused' } };
}
