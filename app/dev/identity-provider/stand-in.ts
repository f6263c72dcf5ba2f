import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { openAdminApi } from './admin-api.ts';
import { Refusal, type Answer } from './answer.ts';
import { standInRealm } from './realm.ts';
import { openTokens } from './tokens.ts';
import { openUsers, type StandInUser } from './users.ts';

export interface StandInOptions {
  /** The port to listen on; 0 for a free one. */
  readonly port: number;
  /** The file that keeps the users; they are kept in memory only without one. */
  readonly file?: string | undefined;
  readonly users?: readonly Pick<StandInUser, 'id' | 'username' | 'password' | 'isOutside'>[];
  /** Seconds that tokens of the service account live; 60 by default. */
  readonly tokenSeconds?: number;
}

export interface StandIn {
  /** The URL for MFA_KEYCLOAK_URL. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts a server that answers the vault as Keycloak does, so that development has MFA without one.
 * It keeps second factors and asks nobody for them: it has no logins.
 */
export async function startStandIn(options: StandInOptions): Promise<StandIn> {
  const { port, file, users: given = [], tokenSeconds = 60 } = options;
  const users = openUsers({ file, users: given });
  const tokens = openTokens({ users, seconds: tokenSeconds });
  const admin = openAdminApi({ users, mayManage: tokens.isValid });

  async function answer(request: IncomingMessage): Promise<Answer> {
    const url = new URL(request.url ?? '/', 'http://stand-in');
    const body = await text(request);
    const openid = `/realms/${standInRealm}/protocol/openid-connect/`;
    if (url.pathname === `${openid}token`) return tokens.grant(new URLSearchParams(body));
    if (url.pathname === `${openid}logout`) return tokens.end(new URLSearchParams(body));
    return admin({ method: request.method ?? 'GET', url, headers: request.headers, body });
  }

  const server = createServer((request, response) => {
    answer(request)
      .catch(toAnswer)
      .then((made) => send(response, made))
      .catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

function toAnswer(error: unknown): Answer {
  if (error instanceof Refusal) {
    return { status: error.status, body: { error: error.message } };
  }
  const isInvalid = error instanceof z.ZodError || error instanceof SyntaxError;
  return { status: isInvalid ? 400 : 500, body: { error: 'unknown_error' } };
}

function send(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
