import { ProviderFailure } from './provider-failure.ts';

const callMs = 3_000;
const maxAnswerBytes = 256 * 1024;

export interface ProviderRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams;
  /** The statuses that the caller handles. Any other is a failure. */
  readonly expects: readonly number[];
}

export interface ProviderAnswer {
  readonly status: number;
  /** The JSON value of the body, or undefined if it is none. */
  readonly body: unknown;
}

/**
 * Sends one request to Keycloak, within 3 seconds and until `deadline` aborts. Throws
 * ProviderFailure unless a complete response with one of the expected statuses arrives.
 */
export async function exchange(
  request: ProviderRequest,
  deadline: AbortSignal,
): Promise<ProviderAnswer> {
  const { method, url, headers, body, expects } = request;
  const signal = AbortSignal.any([deadline, AbortSignal.timeout(callMs)]);
  try {
    const response = await fetch(url, { method, headers, body, redirect: 'error', signal });
    const { status } = response;
    const text = await readText(response);
    if (!expects.includes(status)) throw unexpected(method, status);
    return { status, body: parse(text) };
  } catch (cause) {
    if (cause instanceof ProviderFailure) throw cause;
    const why = signal.aborted ? 'did not respond in time' : 'cannot be reached';
    throw new ProviderFailure(`the identity provider ${why} (${method})`, {
      cause: nameOf(cause),
      isPassing: true,
    });
  }
}

function unexpected(method: string, status: number): ProviderFailure {
  const isPassing = status >= 500 || status === 429;
  return new ProviderFailure(`the identity provider responded ${status} to ${method}`, {
    isPassing,
  });
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) {
      const message = 'the response of the identity provider is over 256 KiB';
      throw new ProviderFailure(message, { isPassing: false });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the kind of an error without its text, which may repeat what was sent. */
function nameOf(error: unknown): string {
  const { code, cause } = error as { readonly code?: string; readonly cause?: { code?: string } };
  return cause?.code ?? code ?? (error instanceof Error ? error.name : 'unknown');
}
