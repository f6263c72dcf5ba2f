import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { parseOptions, UsageError, type Command } from './command.ts';

const paths: ReadonlyMap<string, string> = new Map([
  ['purge-accounts', '/v1/auth/purge/expired'],
  ['expire-uploads', '/v1/internal/maintenance/expire-uploads'],
  ['expire-documents', '/v1/internal/maintenance/expire-documents'],
  ['collect-garbage', '/v1/internal/maintenance/collect-garbage'],
]);

const defaultUrl = 'http://127.0.0.1:8081';

export const maintenance: Command = {
  usage: `usage: probatio maintenance <task> [--dry-run] [--url URL] [--key-file FILE]

Asks a running app to do a task, waits until it is done and prints the report. It ends with 1 unless
the task was done.

  purge-accounts     removes accounts that were never validated in time
  expire-uploads     ends uploads that nobody goes on with
  expire-documents   ends versions of documents that were not sealed in time
  collect-garbage    removes what nothing refers to from the object store, and rows out of date

  --dry-run          reports what would be done
  --url URL          where the app listens for internal requests; MAINTENANCE_URL unless given,
                     or else ${defaultUrl}
  --key-file FILE    the file that holds an internal API key; INTERNAL_API_KEY_FILE unless given
`,
  async run([task = '', ...args]) {
    const path = paths.get(task);
    if (path === undefined) throw new UsageError(`the tasks are: ${[...paths.keys()].join(', ')}`);
    const values = parseOptions(args, {
      'dry-run': { type: 'boolean' },
      url: { type: 'string' },
      'key-file': { type: 'string' },
    });
    const url = parseUrl(values.url ?? (process.env['MAINTENANCE_URL'] || defaultUrl));
    const key = await readKey(values['key-file'] ?? process.env['INTERNAL_API_KEY_FILE']);
    url.pathname += path.slice(1);
    if (values['dry-run'] === true) url.searchParams.set('dryRun', 'true');
    return `${await post(url, key)}\n`;
  },
};

function parseUrl(given: string): URL {
  const url = URL.parse(given.endsWith('/') ? given : `${given}/`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('--url must be an http or https URL');
  }
  return url;
}

async function readKey(file: string | undefined): Promise<string> {
  if (file === undefined || file === '') throw new UsageError('--key-file names no file');
  const key = (await readFile(file, 'utf8')).trim();
  // Node would quote in its error what is no header value.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error(`${file} holds no key`);
  return key;
}

/** Answers the report. */
async function post(url: URL, key: string): Promise<string> {
  const { status, body } = await send(url, key).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${url.origin} gave no answer: ${cause.code ?? cause.message}`, { cause });
  });
  if (status !== 200) throw new Error(`${url.origin} answered ${status}: ${body}`);
  return body;
}

/** Waits as long as the task takes: `fetch` would give up after minutes. */
async function send(url: URL, key: string): Promise<{ status: number; body: string }> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const outgoing = request(url, { method: 'POST', headers: { 'X-Internal-Api-Key': key } });
  outgoing.end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, body: await text(answer) };
}
