/** A response whose body, if any, is read as text. */
export interface JsonAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined without JSON. */
  readonly body: unknown;
}

export function postJson(url: string, json: unknown, token?: string): Promise<JsonAnswer> {
  return send('POST', url, { json, ...(token === undefined ? {} : { token }) });
}

export function getJson(url: string, token?: string): Promise<JsonAnswer> {
  return send('GET', url, token === undefined ? {} : { token });
}

export interface SendOptions {
  readonly json?: unknown;
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request without retries. Error responses do not throw. */
export async function send(
  method: string,
  url: string,
  { json, bytes, token, headers }: SendOptions = {},
): Promise<JsonAnswer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: json === undefined ? (bytes ?? null) : JSON.stringify(json),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text !== '' && isJson ? JSON.parse(text) : undefined,
  };
}
