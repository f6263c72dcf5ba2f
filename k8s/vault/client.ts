import type { z } from 'zod';
import type { SigningPurpose } from '../resources/purpose.ts';
import { ErrorBody, HeldKeys, MaintenanceState, RegistryKey, RegistryKeys } from './answers.ts';
import type { Failure, Outcome } from './failure.ts';

const timeoutMs = 10_000;
/** An HSM may take half a minute to generate an RSA key, and the signer gives up after a minute. */
const creationTimeoutMs = 75_000;
/** The longest wait that the operator lets a response impose on it. */
const maxRetryAfterSeconds = 3_600;

export type VaultClient = ReturnType<typeof createVaultClient>;

interface VaultClientOptions {
  /** Reads the internal API key, whose file may change. */
  readonly readKey: () => string;
  /** Called for each request once it has ended. */
  readonly onAnswered: (failure: Failure | undefined) => void;
}

interface VaultRequest {
  readonly method?: 'GET' | 'POST';
  readonly body?: object;
  readonly timeoutMs?: number;
}

/**
 * Creates the client of the app's internal routes. Every method asks the process at `origin`, such
 * as `http://10.0.0.7:8081`, and resolves with a failure instead of throwing.
 */
export function createVaultClient({ readKey, onAnswered }: VaultClientOptions) {
  async function ask<Schema extends z.ZodType>(
    origin: string,
    path: string,
    schema: Schema,
    { method = 'GET', body, timeoutMs: limitMs = timeoutMs }: VaultRequest = {},
  ): Promise<Outcome<z.output<Schema>>> {
    const outcome = await exchange().catch(() => failed('unreachable'));
    onAnswered('failure' in outcome ? outcome.failure : undefined);
    return outcome;

    async function exchange(): Promise<Outcome<z.output<Schema>>> {
      const response = await fetch(new URL(path, origin), {
        method,
        headers: {
          'X-Internal-Api-Key': readKey(),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(limitMs),
      });
      const answer = parseJson(await response.text());
      if (!response.ok) return failed(codeOf(answer), readRetryAfter(response));
      const parsed = schema.safeParse(answer);
      return parsed.success ? { ok: parsed.data } : failed('bad_response');
    }
  }

  return {
    /** Lists all signing keys of the registry. */
    listKeys: (origin: string) => ask(origin, '/v1/internal/keys', RegistryKeys),

    /** Reads what the token behind this process holds. */
    readHeldKeys: (origin: string) => ask(origin, '/v1/internal/signer', HeldKeys),

    readMaintenance: (origin: string) => ask(origin, '/v1/internal/maintenance', MaintenanceState),

    /** Makes exactly this generation, or finds it; may be repeated. */
    createKey: (origin: string, purpose: SigningPurpose, generation: number) =>
      ask(origin, '/v1/internal/keys', RegistryKey, {
        method: 'POST',
        body: { purpose, generation },
        timeoutMs: creationTimeoutMs,
      }),

    /** Activates a key in place of the active one; may be repeated. */
    activateKey: (origin: string, keyId: string) =>
      ask(origin, `/v1/internal/keys/${keyId}/activate`, RegistryKey, { method: 'POST' }),
  };
}

function failed(code: string, retryAfterSeconds?: number): { readonly failure: Failure } {
  return { failure: { code, retryAfterSeconds } };
}

function codeOf(answer: unknown): string {
  const body = ErrorBody.safeParse(answer);
  return body.success ? body.data.code : 'bad_response';
}

function readRetryAfter(response: Response): number | undefined {
  const text = response.headers.get('Retry-After') ?? '';
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), maxRetryAfterSeconds) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
