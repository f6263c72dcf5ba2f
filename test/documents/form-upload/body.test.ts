import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import * as fc from 'fast-check';
import { readForm, type FormLimits } from '../../../app/documents/form-upload/body.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import { openSocket, readAnswer } from '../../support/http/raw-http.ts';
import { documentPart, filePart, formOf, formType } from './forms.ts';

/**
 * Resolves with the form's content as JSON, the file in hex, or with the code of the error that
 * refused it.
 */
async function read(request: IncomingMessage, limits: FormLimits): Promise<string> {
  const form = readForm(request, limits);
  try {
    const document = await form.document;
    const file = await form.file;
    const bytes = await buffer(file.bytes);
    return JSON.stringify([document, file.fileName, file.mimeType, bytes.toString('hex')]);
  } catch (error) {
    form.discard();
    return error instanceof AppError ? error.code : String(error);
  }
}

interface Reader extends AsyncDisposable {
  readonly baseUrl: string;
  /** Resolves with the outcome of the last request. */
  readonly outcome: () => Promise<string>;
}

/** Starts a server that reads forms with these limits and responds with the outcome. */
async function startReader(limits: FormLimits): Promise<Reader> {
  let outcome = Promise.resolve('');
  const server: Server = createServer((request, response) => {
    outcome = read(request, limits);
    void outcome.then((text) => response.end(text));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    outcome: () => outcome,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const chunkedHead =
  `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType}\r\n` +
  'Transfer-Encoding: chunked\r\n\r\n';

function writeChunk(socket: Socket, bytes: Uint8Array): Promise<void> {
  const chunk = Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ]);
  return new Promise((resolve) => socket.write(chunk, () => setImmediate(resolve)));
}

const generous: FormLimits = { maxFileSize: 1_000_000, idleMs: 60_000 };

const delimiter = '\r\n--a-boundary-of-a-form';

/** Generates bytes of which many look like a part of the boundary. */
const content = fc
  .array(
    fc.oneof(
      fc.nat(delimiter.length - 1).map((length) => delimiter.slice(0, length)),
      fc.constantFrom('\r', '\n', '--', '-', '\0'),
      fc.string(),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''))
  .filter((text) => !text.includes(delimiter))
  .map((text) => Buffer.from(text));

test('a form is read the same however its bytes are split into chunks', async (t) => {
  await using reader = await startReader(generous);
  const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(content, cuts, async (file, sizes) => {
      const whole = formOf(documentPart({ a: 'ä' }), filePart(file, 'ä.bin'));
      const socket = await openSocket(reader.baseUrl);
      socket.setNoDelay(true);
      socket.write(chunkedHead);
      for (let start = 0, turn = 0; start < whole.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        await writeChunk(socket, whole.subarray(start, start + size));
        start += size;
      }
      socket.write('0\r\n\r\n');
      const { text } = await readAnswer(socket);
      socket.destroy();
      t.deepEqual(JSON.parse(text), [
        '{"a":"ä"}',
        'ä.bin',
        'application/octet-stream',
        file.toString('hex'),
      ]);
    }),
    { numRuns: 200 },
  );
});

test('a file is counted as it arrives, and the first byte too many refuses it', async (t) => {
  await using reader = await startReader({ ...generous, maxFileSize: 1000 });
  for (const [size, expected] of [
    [1000, /^\["/],
    [1001, /^file_too_large$/],
  ] as const) {
    const socket = await openSocket(reader.baseUrl);
    socket.write(chunkedHead);
    // The form's end is withheld: a server that waited for it would never respond.
    const whole = formOf(documentPart(), filePart(Buffer.alloc(size)));
    const sent = size === 1000 ? whole : whole.subarray(0, -10);
    await writeChunk(socket, sent);
    if (size === 1000) socket.write('0\r\n\r\n');
    t.regex((await readAnswer(socket)).text, expected);
    socket.destroy();
  }
});

test('an endless body is refused, with no part begun or a part unfinished', async (t) => {
  await using reader = await startReader({ ...generous, maxFileSize: 1000 });
  for (const first of [Buffer.alloc(0), formOf(documentPart())]) {
    const socket = await openSocket(reader.baseUrl);
    socket.on('error', () => undefined);
    socket.write(chunkedHead);
    if (first.length > 0) await writeChunk(socket, first.subarray(0, -4));
    const answer = readAnswer(socket);
    for (let sent = 0; sent < 20; sent += 1) await writeChunk(socket, Buffer.alloc(100_000, 'x'));
    t.is((await answer).text, 'file_too_large');
    socket.destroy();
  }
});

test('a client that stops sending is disconnected, wherever it stops', async (t) => {
  await using reader = await startReader({ ...generous, idleMs: 100 });
  const whole = formOf(documentPart(), filePart(Buffer.alloc(100_000)));
  for (const length of [0, 60, 250, 50_000, whole.length - 3]) {
    const socket = await openSocket(reader.baseUrl);
    const closed = once(socket, 'close');
    socket.on('error', () => undefined).resume();
    socket.write(chunkedHead);
    if (length > 0) await writeChunk(socket, whole.subarray(0, length));
    await closed;
    t.is(await reader.outcome(), 'incomplete_body', String(length));
  }
});
