import { Agent } from 'node:http';
import type { z } from 'zod';
import {
  ErrorResponse,
  HealthResponse,
  KeyResponse,
  KeysResponse,
  MacResponse,
  SealResponse,
  TokenResponse,
} from './protocol.ts';
import type {
  EntryToSeal,
  MacLabel,
  PublicKey,
  SealResult,
  SigningPurpose,
  TokenRequest,
} from './protocol.ts';
import { isRefusedCode, SignerRefused, SignerUnavailable } from './signer-error.ts';
import { exchange } from './transport.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';

const DEFAULT_TIMEOUT_MS = 10_000;
/** Longer than the signer waits: an RSA key in an HSM may take half a minute. */
const KEY_CREATION_TIMEOUT_MS = 65_000;

export type CallOptions = { signal?: AbortSignal };

/** Every method throws SignerUnavailable, SignerRefused, or the reason of an aborted `signal`. */
export type SignerClient = {
  /** Up to 256 entries, signed by the audit key of that id; results in the same order. */
  seal(
    keyId: string,
    entries: readonly EntryToSeal[],
    options?: CallOptions,
  ): Promise<SealResult[]>;
  /** Signed by the token key of `keyId`. */
  signToken(token: TokenRequest, options?: CallOptions): Promise<string>;
  /** 32 bytes. */
  mac(label: MacLabel, options?: CallOptions): Promise<Buffer>;
  /** Public keys of all generations in the token. */
  listKeys(options?: CallOptions): Promise<PublicKey[]>;
  /**
   * Makes the next generation of a purpose in the token, above `after`, which the token may hold no
   * more. May take a minute.
   */
  createKey(
    purpose: SigningPurpose,
    options?: CallOptions & { after?: number },
  ): Promise<PublicKey>;
  /** Answers as long as the signer does, whatever the state of its token. */
  health(options?: CallOptions): Promise<HealthResponse>;
  /** Lets go of idle connections. */
  close(): void;
};

type SignerClientOptions = { socketPath: string; timeoutMs?: number };

export function createSignerClient({
  socketPath,
  timeoutMs = DEFAULT_TIMEOUT_MS,
}: SignerClientOptions): SignerClient {
  const agent = new Agent({ keepAlive: true });
  return {
    async seal(keyId, entries, options) {
      const { results } = await call(
        { method: 'POST', path: '/v1/seal' },
        { keyId, entries },
        SealResponse,
        options,
      );
      return results;
    },
    async signToken(token, options) {
      return (await call({ method: 'POST', path: '/v1/tokens' }, token, TokenResponse, options))
        .token;
    },
    async mac(label, options) {
      const { mac } = await call(
        { method: 'POST', path: '/v1/mac' },
        { label },
        MacResponse,
        options,
      );
      return Buffer.from(mac, 'base64');
    },
    async listKeys(options) {
      return (await call({ method: 'GET', path: '/v1/keys' }, undefined, KeysResponse, options))
        .keys;
    },
    async createKey(purpose, { after = 0, ...options } = {}) {
      const { key } = await call(
        { method: 'POST', path: '/v1/keys' },
        { purpose, after },
        KeyResponse,
        { ...options, timeoutMs: Math.max(timeoutMs, KEY_CREATION_TIMEOUT_MS) },
      );
      return key;
    },
    async health(options) {
      return call({ method: 'GET', path: '/health' }, undefined, HealthResponse, options);
    },
    close() {
      agent.destroy();
    },
  };

  async function call<Schema extends z.ZodType>(
    route: Pick<HttpRequest, 'method' | 'path'>,
    body: object | undefined,
    schema: Schema,
    { signal, timeoutMs: limitMs = timeoutMs }: CallOptions & { timeoutMs?: number } = {},
  ): Promise<z.output<Schema>> {
    const timeout = AbortSignal.timeout(limitMs);
    try {
      const response = await exchange({
        ...route,
        agent,
        socketPath,
        body: body && JSON.stringify(body),
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      return readResponse(response, schema);
    } catch (cause) {
      if (cause instanceof SignerUnavailable || cause instanceof SignerRefused) throw cause;
      signal?.throwIfAborted();
      if (timeout.aborted)
        throw new SignerUnavailable('timeout', 'the signer did not answer in time', { cause });
      throw new SignerUnavailable('unreachable', 'the signer cannot be reached', { cause });
    }
  }
}

/** Throws the error of the body, or `bad_response` when the body is of neither kind. */
function readResponse<Schema extends z.ZodType>(
  { status, text }: HttpResponse,
  schema: Schema,
): z.output<Schema> {
  const body = parseJson(text);
  const answer = schema.safeParse(body);
  if (answer.success) return answer.data;
  const failure = ErrorResponse.safeParse(body);
  if (!failure.success)
    throw new SignerUnavailable('bad_response', `the signer answered ${status} with another body`);
  const { code, message } = failure.data;
  throw isRefusedCode(code)
    ? new SignerRefused(code, message)
    : new SignerUnavailable(code, message);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
