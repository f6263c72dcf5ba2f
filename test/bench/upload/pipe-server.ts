/**
 * Puts a request's body into S3 and computes its SHA-256 with the least code a Node server needs:
 * no database, no claims, no checksum of S3's, none of the product's code.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerParent } from '../../support/processes/child.ts';
import { signS3, type Signing } from '../harness/sigv4.ts';

export interface PipeTarget extends Signing {
  /** The bucket's URL. The path and query of each request are appended to it. */
  readonly url: string;
}

const agent = new Agent({ keepAlive: true });

answerParent(async (target: PipeTarget): Promise<number> => {
  const server = createServer((incoming, outgoing) => {
    pipePart(target, incoming).then(
      (answer) => outgoing.end(JSON.stringify(answer)),
      (error: unknown) => outgoing.writeHead(502).end(String(error)),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
});

async function pipePart(target: PipeTarget, incoming: IncomingMessage) {
  const url = new URL(`${target.url}${incoming.url ?? ''}`);
  const upstream = request(url, {
    agent,
    method: 'PUT',
    headers: {
      ...signS3('PUT', url, target),
      'content-length': incoming.headers['content-length'],
    },
  });
  const hash = createHash('sha256');
  incoming.on('data', (chunk: Buffer) => hash.update(chunk));
  incoming.pipe(upstream);
  const [response] = (await once(upstream, 'response')) as [IncomingMessage];
  const ended = once(response, 'end');
  response.resume();
  await ended;
  if (response.statusCode !== 200) throw new Error(`S3 answered ${response.statusCode}`);
  return { etag: response.headers.etag, sha256: hash.digest('base64') };
}
