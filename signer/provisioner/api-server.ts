import { readFile } from 'node:fs/promises';
import { request, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { retry } from '../pkcs11/library/retry.ts';

const timeoutMs = 15_000;

/** A refusal of the API server. Its message is that of the server, which quotes no secret. */
export class ApiServerError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Thrown when no answer arrived. */
class ApiServerUnreachable extends Error {}

interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH';
  readonly body?: object;
}

/** Sends a request to a path of the API server; resolves with the JSON of its answer. */
export type AskApiServer = (path: string, request?: ApiRequest) => Promise<unknown>;

interface ApiServerOptions {
  readonly host: string;
  readonly port: number;
  /** The directory with `token` and `ca.crt` of the pod's account. */
  readonly accountDirectory: string;
}

/**
 * Creates the access to the Kubernetes API server with the account of this pod. A PATCH is a JSON
 * merge patch. A request that was not answered, or that the server could not serve, is repeated a
 * few times, so it MUST be safe to repeat. Rejects with ApiServerError if the server refuses it.
 */
export function createApiServer({ host, port, accountDirectory }: ApiServerOptions): AskApiServer {
  async function ask(path: string, { method = 'GET', body }: ApiRequest): Promise<unknown> {
    // Kubernetes replaces the token before it expires.
    const [token, ca] = await Promise.all([
      readFile(join(accountDirectory, 'token'), 'utf8'),
      readFile(join(accountDirectory, 'ca.crt')),
    ]);
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = {
      Accept: 'application/json',
      Authorization: `Bearer ${token.trim()}`,
      ...(body === undefined ? {} : { 'Content-Type': type }),
    };
    const payload = body === undefined ? '' : JSON.stringify(body);
    const { status, answer } = await exchange({ host, port, ca, path, method, headers }, payload);
    if (status >= 200 && status < 300) return parseJson(answer);
    throw new ApiServerError(status, messageOf(status, answer));
  }

  return (path, options = {}) =>
    retry(() => ask(path, options), { attempts: 6, pauseMs: 500, mayPass });
}

function mayPass(error: unknown): boolean {
  if (error instanceof ApiServerUnreachable) return true;
  return error instanceof ApiServerError && (error.status === 429 || error.status >= 500);
}

async function exchange(options: RequestOptions, payload: string) {
  const signal = AbortSignal.timeout(timeoutMs);
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; answer: string }>();
  const sent = request({ ...options, signal }, (response) => {
    text(response).then(
      (answer) => resolve({ status: response.statusCode ?? 0, answer }),
      (error: unknown) => reject(error),
    );
  });
  sent.on('error', reject);
  sent.end(payload);
  return promise.catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : 'it gave no reason';
    throw new ApiServerUnreachable(`the API server did not answer: ${reason}`, { cause });
  });
}

function parseJson(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    // The parser's own error quotes the text, which may be a Secret.
    throw new ApiServerUnreachable('the API server answered with something that is not JSON');
  }
}

function messageOf(status: number, answer: string): string {
  try {
    const { message } = JSON.parse(answer) as { readonly message?: unknown };
    if (typeof message === 'string') return `the API server refuses with ${status}: ${message}`;
  } catch {
    // The status says enough.
  }
  return `the API server refuses with ${status}`;
}
