/**
 * Serves objects of S3 through the least code a Node server needs; runs none of the product's code.
 */
import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerParent } from '../../support/processes/child.ts';
import { signS3, type Signing } from '../harness/sigv4.ts';

export interface PipeSource extends Signing {
  /** The bucket's URL. The path of each request is appended to it. */
  readonly url: string;
}

const agent = new Agent({ keepAlive: true });

answerParent(async (source: PipeSource): Promise<number> => {
  const server = createServer((incoming, outgoing) => {
    pipeObject(source, incoming.url ?? '', outgoing).catch((error: unknown) => {
      outgoing.destroy(error as Error);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
});

async function pipeObject(source: PipeSource, path: string, outgoing: ServerResponse) {
  const url = new URL(source.url + path);
  const upstream = request(url, { agent, headers: signS3('GET', url, source) });
  upstream.end();
  const [response] = (await once(upstream, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`S3 answered ${response.statusCode}`);
  outgoing.writeHead(200, { 'content-length': response.headers['content-length'] });
  response.pipe(outgoing);
}
