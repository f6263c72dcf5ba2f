/** Downloads one file repeatedly from any server and replies with the milliseconds it took. */
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { answerParent } from '../../support/processes/child.ts';

export interface Collection {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** The size of the file. */
  readonly bytes: number;
  readonly times: number;
  readonly concurrency: number;
}

const agent = new Agent({ keepAlive: true });

answerParent(async (collection: Collection): Promise<number> => {
  const waiting = Array.from({ length: collection.times }).values();
  const startedAt = performance.now();
  const lane = async () => {
    for (const _ of waiting) await receive(collection);
  };
  await Promise.all(Array.from({ length: collection.concurrency }, lane));
  return performance.now() - startedAt;
});

async function receive({ url, headers, bytes }: Collection): Promise<void> {
  const outgoing = request(url, { agent, headers });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the server answered ${response.statusCode}`);
  let received = 0;
  response.on('data', (chunk: Buffer) => (received += chunk.length));
  await once(response, 'end');
  if (received !== bytes) throw new Error(`received ${received} bytes instead of ${bytes}`);
}
