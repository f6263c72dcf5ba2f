import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { commandVariables } from '../config/other-variables.ts';
import { UsageError } from './command.ts';
import { readSettings } from './variables.ts';

const defaultUrl = 'http://127.0.0.1:8081';

/** The options of every command that sends requests to a running app. */
export const internalApiOptions = {
  url: { type: 'string' },
  'key-file': { type: 'string' },
} as const;

/** The help text of `internalApiOptions`. */
export const internalApiUsage = `\
  --url URL          base URL of the app's internal routes; default MAINTENANCE_URL, or else
                     ${defaultUrl}
  --key-file FILE    file that holds an internal API key; default INTERNAL_API_KEY_FILE
`;

interface InternalRequest {
  readonly method: 'GET' | 'POST';
  /** The path without a leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** Statuses besides 2xx whose bodies are resolved with. */
  readonly accepted?: readonly number[];
  /** Ends the wait for the response. */
  readonly signal?: AbortSignal;
}

/** Thrown if a running app gave no answer. */
export class NoAnswer extends Error {
  override name = 'NoAnswer';
}

/** Thrown if a running app answered with another status than 2xx. */
export class UnexpectedStatus extends Error {
  override name = 'UnexpectedStatus';
  readonly status: number;
  readonly body: string;

  constructor(message: string, { status, body }: { status: number; body: string }) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export type InternalApi = Awaited<ReturnType<typeof openInternalApi>>;

/**
 * Prepares requests to a running app with an internal API key. Throws UsageError or ConfigError if
 * neither the options nor the environment give a valid URL and a key file.
 */
export async function openInternalApi(values: {
  readonly url?: string | undefined;
  readonly 'key-file'?: string | undefined;
}) {
  const { maintenanceUrl, keyFile } = commandVariables.settings;
  const configured = readSettings({ maintenanceUrl, keyFile });
  const base = parseUrl(values.url ?? configured.maintenanceUrl ?? defaultUrl);
  const key = await readKey(values['key-file'] ?? configured.keyFile);
  return {
    /** Scheme, host and port of the app. */
    origin: base.origin,

    /**
     * Sends a request and waits for the response, without a time limit of its own. Resolves with
     * the body. Throws NoAnswer, or UnexpectedStatus if the status is neither 2xx nor accepted.
     */
    async ask(request: InternalRequest): Promise<string> {
      const url = new URL(base);
      url.pathname += request.path;
      url.search = new URLSearchParams(request.query).toString();
      const { status, body, retryAfter } = await send(url, request, key).catch(
        (cause: NodeJS.ErrnoException) => {
          throw new NoAnswer(`${url.origin} gave no answer: ${cause.code ?? cause.message}`, {
            cause,
          });
        },
      );
      const isAccepted = request.accepted?.includes(status) ?? false;
      if (!isAccepted && (status < 200 || status > 299)) {
        const advice = retryAfter === undefined ? '' : `\nask again in ${retryAfter} s`;
        const message = `${url.origin} answered ${status}: ${body}${advice}`;
        throw new UnexpectedStatus(message, { status, body });
      }
      return body;
    },
  };
}

function parseUrl(given: string): URL {
  const url = URL.parse(given.endsWith('/') ? given : `${given}/`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('--url must be an http or https URL');
  }
  return url;
}

async function readKey(file: string | undefined): Promise<string> {
  if (file === undefined || file === '') {
    throw new UsageError('--key-file or INTERNAL_API_KEY_FILE must name the file of a key');
  }
  const key = (await readFile(file, 'utf8')).trim();
  // Node would quote an invalid header value in its error.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error(`${file} holds no key`);
  return key;
}

/** Sends a request by node:http, since `fetch` would time out after some minutes. */
async function send(
  url: URL,
  { method, json, signal }: InternalRequest,
  key: string,
): Promise<{
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = {
    'X-Internal-Api-Key': key,
    ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  const outgoing = request(url, { method, headers, ...(signal === undefined ? {} : { signal }) });
  outgoing.end(json === undefined ? undefined : JSON.stringify(json));
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const { statusCode: status = 0, headers: received } = response;
  return { status, body: await text(response), retryAfter: received['retry-after'] };
}
