/**
 * Runs a mail server on a port that writes each e-mail as a file: node mail.ts DIRECTORY [PORT].
 * With a second port it lists and shows them there as the API of Mailpit does.
 */
import { randomUUID } from 'node:crypto';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { callbackify } from 'node:util';
import { SMTPServer } from 'smtp-server';

const [directory = '', port = '2525', apiPort] = process.argv.slice(2);

/** Writes a file that has its name only once it is whole. */
const keep = callbackify(async (stream: NodeJS.ReadableStream): Promise<void> => {
  const file = join(directory, randomUUID());
  await writeFile(file, await buffer(stream));
  await rename(file, `${file}.eml`);
});

new SMTPServer({
  authOptional: true,
  disabledCommands: ['AUTH', 'STARTTLS'],
  onData: (stream, _session, callback) => keep(stream, callback),
}).listen(Number(port));

/** Resolves with the body of a response of the API, or with undefined if there is no such path. */
async function show(path: string): Promise<string | Buffer | undefined> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.eml'));
  if (path === '/api/v1/messages') {
    return JSON.stringify({ messages: files.map((name) => ({ ID: name.replace('.eml', '') })) });
  }
  const id = /^\/api\/v1\/message\/([^/]+)\/raw$/.exec(path)?.[1];
  return files.includes(`${id}.eml`) ? readFile(join(directory, `${id}.eml`)) : undefined;
}

if (apiPort !== undefined) {
  createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://mail');
    void show(pathname).then((body) =>
      response.writeHead(body === undefined ? 404 : 200).end(body),
    );
  }).listen(Number(apiPort));
}
