/** Receives traces, by OTLP over HTTP, and only counts the bytes of them. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerParent } from '../../support/processes/child.ts';

/** Where the receiver listens, and what it has got so far. */
export interface Received {
  readonly url: string;
  readonly bytes: number;
}

let bytes = 0;
const server = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => (bytes += chunk.length));
  request.on('end', () => response.setHeader('Content-Type', 'application/json').end('{}'));
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

answerParent(async (): Promise<Received> => ({ url, bytes }));
