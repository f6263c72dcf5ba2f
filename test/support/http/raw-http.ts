import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { recordFaults } from '../openapi/recorded-faults.ts';

const limitMs = 20_000;

/** A response as received over the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface RawOptions {
  /** Half-closes the connection after the last byte. */
  readonly end?: boolean;
  /**
   * Reads until the server closes the connection, instead of to the end of the response's
   * Content-Length.
   */
  readonly untilClosed?: boolean;
}

/** Opens a socket to the server of `baseUrl`, for requests that fetch would refuse to send. */
export async function openSocket(baseUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  const socket = createConnection(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

/** Sends exactly these bytes and reads one response. Throws if none comes. */
export async function exchange(
  baseUrl: string,
  bytes: string | Buffer,
  { end = false, untilClosed = false }: RawOptions = {},
): Promise<RawAnswer> {
  const socket = await openSocket(baseUrl);
  try {
    // A server may close the connection before all bytes are sent; only its response matters.
    socket.on('error', () => undefined);
    socket.write(bytes);
    if (end) socket.end();
    const answer = await readAnswer(socket, { untilClosed });
    checkAnswer(bytes, answer);
    return answer;
  } finally {
    socket.destroy();
  }
}

/** Checks a response of a vault against openapi.json, if the request has a request line. */
function checkAnswer(bytes: string | Buffer, { status, headers, text }: RawAnswer): void {
  const line = /^([A-Z]+) (\/[^ ]*) HTTP\/1\.[01]\r\n/.exec(bytes.toString('latin1'));
  const [, method, url] = line ?? [];
  if (method === undefined || url === undefined || !headers.has('x-request-id')) return;
  const request = { method, url, requestHeaders: new Headers(), requestText: undefined };
  // The headers of a raw request are not known: successes are checked by the tests that use fetch.
  if (status >= 400) recordFaults({ ...request, status, headers, text });
}

/** Reads one response up to its Content-Length, or up to the end of the connection without one. */
export function readAnswer(
  socket: Socket,
  { untilClosed = false }: Pick<RawOptions, 'untilClosed'> = {},
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  let received = Buffer.alloc(0);
  const limit = setTimeout(() => reject(new Error('no response came')), limitMs);
  const onData = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    const answer = untilClosed ? undefined : parseAnswer(received, false);
    if (answer !== undefined) resolve(answer);
  };
  const onClose = () => {
    const answer = parseAnswer(received, true);
    if (answer === undefined) reject(new Error('the connection closed without a response'));
    else resolve(answer);
  };
  socket.on('data', onData).once('close', onClose);
  return promise.finally(() => {
    clearTimeout(limit);
    socket.off('data', onData).off('close', onClose);
  });
}

function parseAnswer(received: Buffer, isWhole: boolean): RawAnswer | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  if (status === 100) return parseAnswer(received.subarray(end + 4), isWhole);
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  const length = headers.get('content-length');
  const body = received.subarray(end + 4);
  if (length === null ? !isWhole : body.length < Number(length)) return undefined;
  return { status, headers, text: body.toString('utf8') };
}
