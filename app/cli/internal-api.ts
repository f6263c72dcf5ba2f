import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { UsageError } from './command.ts';

const defaultUrl = 'http://127.0.0.1:8081';

/** The options of every command that asks a running app. */
export const internalApiOptions = {
  url: { type: 'string' },
  'key-file': { type: 'string' },
} as const;

/** What `--help` says of them. */
export const internalApiUsage = `\
  --url URL          where the app listens for internal requests; MAINTENANCE_URL unless given,
                     or else ${defaultUrl}
  --key-file FILE    the file that holds an internal API key; INTERNAL_API_KEY_FILE unless given
`;

interface InternalRequest {
  readonly method: 'GET' | 'POST';
  /** Without the leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

/** A running app, asked with an internal API key. */
export interface InternalApi {
  /** Waits as long as it takes. Answers the body. Throws, with the reason, unless it is a 2xx. */
  ask(request: InternalRequest): Promise<string>;
}

/** Throws UsageError where the options, or the environment in their place, do not name one. */
export async function openInternalApi(values: {
  readonly url?: string | undefined;
  readonly 'key-file'?: string | undefined;
}): Promise<InternalApi> {
  const base = parseUrl(values.url ?? (process.env['MAINTENANCE_URL'] || defaultUrl));
  const key = await readKey(values['key-file'] ?? process.env['INTERNAL_API_KEY_FILE']);
  return {
    async ask(request) {
      const url = new URL(base);
      url.pathname += request.path;
      url.search = new URLSearchParams(request.query).toString();
      const { status, body, retryAfter } = await send(url, request, key).catch(
        (cause: NodeJS.ErrnoException) => {
          throw new Error(`${url.origin} gave no answer: ${cause.code ?? cause.message}`, {
            cause,
          });
        },
      );
      if (status < 200 || status > 299) {
        const advice = retryAfter === undefined ? '' : `\nask again in ${retryAfter} s`;
        throw new Error(`${url.origin} answered ${status}: ${body}${advice}`);
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
  // Node would quote in its error what is no header value.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error(`${file} holds no key`);
  return key;
}

/** Not by `fetch`, which would give up after minutes. */
async function send(
  url: URL,
  { method, json }: InternalRequest,
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
  const outgoing = request(url, { method, headers });
  outgoing.end(json === undefined ? undefined : JSON.stringify(json));
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const { statusCode: status = 0, headers: received } = answer;
  return { status, body: await text(answer), retryAfter: received['retry-after'] };
}
