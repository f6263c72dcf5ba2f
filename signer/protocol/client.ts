import { Agent } from 'node:http';
import type { z } from 'zod';
import {
  EncryptionKeyResponse,
  encryptionLabel,
  ErrorResponse,
  HealthResponse,
  keyCreationTimeoutMs,
  KeyResponse,
  KeysResponse,
  MacResponse,
  MarkSealResponse,
  SealResponse,
  TokenResponse,
  totpLabel,
  type EntryToSeal,
  type MacLabel,
  type PublicKey,
  type SealResult,
  type SigningPurpose,
  type TokenRequest,
  type TotpRequest,
} from './protocol.ts';
import {
  isRefusedCode,
  SignerRefused,
  SignerUnavailable,
  type SignerErrorCode,
} from './signer-error.ts';
import { findDirectoryProblem } from './socket-directory.ts';
import { exchange, type HttpRequest, type HttpResponse } from './transport.ts';

const defaultTimeoutMs = 10_000;
/**
 * Milliseconds added to the signer's own timeout, so that the signer can report a timeout of the
 * HSM before the client gives up.
 */
const marginMs = 5_000;

/** A key that the HSM derives, with which the application encrypts. */
export interface EncryptionKey {
  readonly generation: number;
  /** 32 bytes. */
  readonly key: Buffer;
}

/** The secret of a user's one-time codes, which the HSM derives. */
export interface TotpSecret {
  readonly generation: number;
  /** 20 bytes. */
  readonly secret: Buffer;
}

interface CreationOptions {
  readonly after?: number;
  readonly generation?: number | undefined;
}

/** A client of the signer. Every method throws SignerUnavailable or SignerRefused. */
export interface SignerClient {
  /**
   * Seals up to 256 entries with the audit key `keyId`. The results are in the order of `entries`.
   */
  seal(keyId: string, entries: readonly EntryToSeal[]): Promise<SealResult[]>;
  /**
   * Seals entries of signing keys like `seal`. The signer checks what they say of a key against its
   * token.
   */
  sealKeyRecords(keyId: string, entries: readonly EntryToSeal[]): Promise<SealResult[]>;
  /** Seals a high-water mark. */
  sealMark(keyId: string, entry: EntryToSeal): Promise<SealResult>;
  /** Resolves with a compact JWS, signed with the token key that the request names. */
  signToken(token: TokenRequest): Promise<string>;
  /** Resolves with the HMAC-SHA-256 of the label, 32 bytes. */
  mac(label: MacLabel): Promise<Buffer>;
  /**
   * Resolves with the 32-byte key of encryption of a generation, by default of the newest one in
   * the token. Throws SignerUnavailable `key_missing` if the token lacks the generation.
   */
  encryptionKey(generation?: number): Promise<EncryptionKey>;
  /**
   * Resolves with the secret of a user's one-time codes. Without a generation, the newest one in
   * the token is used. Throws SignerUnavailable `key_missing` if the token lacks the generation.
   */
  totpSecret(request: Omit<TotpRequest, 'label'>): Promise<TotpSecret>;
  /**
   * Creates the next generation of the key of encryption, with a number above `after`, the highest
   * generation that ever existed. Resolves with the generation.
   */
  createEncryptionKey(options: { readonly after: number }): Promise<number>;
  /** Lists the public keys of all generations in the token, without imported, unadopted keys. */
  listKeys(): Promise<PublicKey[]>;
  /** Lists the imported keys of the token that nobody has adopted, which sign nothing. */
  listUnadopted(): Promise<PublicKey[]>;
  /** Makes an imported key usable, for all signers of the token. */
  adoptKey(keyId: string): Promise<PublicKey>;
  /**
   * Creates the next generation of a signing key, with a number above `after`. If the token may
   * have lost keys, pass the highest generation that ever existed. With `generation`, creates
   * exactly that one, or resolves with the key that is there, so that the call may be repeated.
   * Throws SignerRefused `wrong_generation` for a number that is neither. May take a minute.
   */
  createKey(purpose: SigningPurpose, options?: CreationOptions): Promise<PublicKey>;
  /**
   * Resolves whenever the signer responds, within ten seconds by default, whatever the state of its
   * token.
   */
  health(options?: { readonly timeoutMs?: number }): Promise<HealthResponse>;
  /** Closes the connections to the signer. */
  close(): void;
}

/** The paths of the signer that a client calls. */
export const signerPaths = [
  '/v1/seal',
  '/v1/key-records',
  '/v1/marks',
  '/v1/tokens',
  '/v1/mac',
  '/v1/encryption-keys',
  '/v1/keys',
  '/v1/keys/adopt',
  '/health',
] as const;

type SignerPath = (typeof signerPaths)[number];

/** A call that the signer answered, or that failed. */
export interface AnsweredCall {
  readonly path: SignerPath;
  readonly seconds: number;
  /** The code of the failure; undefined after a success. */
  readonly code: SignerErrorCode | undefined;
}

interface SignerClientOptions {
  readonly socketPath: string;
  /** Called for each call once it has ended. */
  readonly onAnswered?: (call: AnsweredCall) => void;
}

export function createSignerClient(options: SignerClientOptions): SignerClient {
  const { socketPath, onAnswered = () => undefined } = options;
  const agent = new Agent({ keepAlive: true });
  return {
    async seal(keyId, entries) {
      const body = { keyId, entries };
      return (await call({ method: 'POST', path: '/v1/seal', body }, SealResponse)).results;
    },
    async sealKeyRecords(keyId, entries) {
      const body = { keyId, entries };
      return (await call({ method: 'POST', path: '/v1/key-records', body }, SealResponse)).results;
    },
    async sealMark(keyId, entry) {
      const body = { keyId, entry };
      return (await call({ method: 'POST', path: '/v1/marks', body }, MarkSealResponse)).result;
    },
    async signToken(token) {
      const request = { method: 'POST', path: '/v1/tokens', body: token } as const;
      return (await call(request, TokenResponse)).token;
    },
    async mac(label) {
      const { mac } = await call({ method: 'POST', path: '/v1/mac', body: { label } }, MacResponse);
      return Buffer.from(mac, 'base64');
    },
    async encryptionKey(generation) {
      const body = { label: encryptionLabel, generation };
      const answer = await call({ method: 'POST', path: '/v1/mac', body }, MacResponse);
      return { generation: answer.generation, key: Buffer.from(answer.mac, 'base64') };
    },
    async totpSecret(request) {
      const body = { ...request, label: totpLabel };
      const answer = await call({ method: 'POST', path: '/v1/mac', body }, MacResponse);
      return { generation: answer.generation, secret: Buffer.from(answer.mac, 'base64') };
    },
    async createEncryptionKey({ after }) {
      const request = { method: 'POST', path: '/v1/encryption-keys', body: { after } } as const;
      const timeoutMs = keyCreationTimeoutMs + marginMs;
      return (await call(request, EncryptionKeyResponse, timeoutMs)).generation;
    },
    async listKeys() {
      return (await call({ method: 'GET', path: '/v1/keys' }, KeysResponse)).keys;
    },
    async listUnadopted() {
      return (await call({ method: 'GET', path: '/v1/keys' }, KeysResponse)).unadopted;
    },
    async adoptKey(keyId) {
      const request = { method: 'POST', path: '/v1/keys/adopt', body: { keyId } } as const;
      return (await call(request, KeyResponse)).key;
    },
    async createKey(purpose, { after = 0, generation } = {}) {
      const body = { purpose, after, generation };
      const request = { method: 'POST', path: '/v1/keys', body } as const;
      return (await call(request, KeyResponse, keyCreationTimeoutMs + marginMs)).key;
    },
    async health({ timeoutMs } = {}) {
      return call({ method: 'GET', path: '/health' }, HealthResponse, timeoutMs);
    },
    close() {
      agent.destroy();
    },
  };

  async function call<Schema extends z.ZodType>(
    { body, ...route }: CallRequest,
    schema: Schema,
    timeoutMs = defaultTimeoutMs,
  ): Promise<z.output<Schema>> {
    const startedAt = performance.now();
    const tell = (code?: SignerErrorCode) => {
      const seconds = (performance.now() - startedAt) / 1_000;
      onAnswered({ path: route.path, seconds, code });
    };
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      assertTrusted(socketPath);
      const text = body === undefined ? undefined : JSON.stringify(body);
      const answer = readResponse(
        await exchange({ ...route, agent, socketPath, body: text, signal }),
        schema,
      );
      tell();
      return answer;
    } catch (cause) {
      const failure = toFailure(cause, signal);
      tell(failure.code);
      throw failure;
    }
  }
}

function toFailure(cause: unknown, { aborted }: AbortSignal): SignerUnavailable | SignerRefused {
  if (cause instanceof SignerUnavailable || cause instanceof SignerRefused) return cause;
  return aborted
    ? new SignerUnavailable('timeout', 'the signer did not respond in time', { cause })
    : new SignerUnavailable('unreachable', 'the signer cannot be reached', { cause });
}

interface CallRequest extends Pick<HttpRequest, 'method'> {
  readonly path: SignerPath;
  readonly body?: object;
}

/** Throws SignerUnavailable `socket_untrusted` if a stranger could have put a socket there. */
function assertTrusted(socketPath: string): void {
  const problem = findDirectoryProblem(socketPath);
  if (problem === undefined) return;
  throw new SignerUnavailable('socket_untrusted', `SIGNER_SOCKET_PATH ${problem}`);
}

/** Parses a response. Throws the error in its body, or `bad_response` for an unknown body. */
function readResponse<Schema extends z.ZodType>(
  { status, text }: HttpResponse,
  schema: Schema,
): z.output<Schema> {
  const body = parseJson(text);
  const answer = schema.safeParse(body);
  if (answer.success) return answer.data;
  const failure = ErrorResponse.safeParse(body);
  if (!failure.success)
    throw new SignerUnavailable(
      'bad_response',
      `the signer responded ${status} with a body that its protocol does not define`,
    );
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
