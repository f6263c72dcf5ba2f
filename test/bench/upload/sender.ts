/**
 * Sends the same random bytes repeatedly to any server and replies with the milliseconds it took.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { answerParent } from '../../support/processes/child.ts';
import { partBytes } from './part-bytes.ts';

export interface Delivery {
  readonly method: 'PUT' | 'PATCH';
  readonly url: string;
  readonly headers: Record<string, string>;
  /** Number of copies of the part that form the body. */
  readonly copies: number;
}

export interface Shipment {
  readonly deliveries: Delivery[];
  readonly concurrency: number;
}

const part = randomBytes(partBytes);
const agent = new Agent({ keepAlive: true });

answerParent(async ({ deliveries, concurrency }: Shipment): Promise<number> => {
  // Changes the part, as a vault stores the same content only once.
  part.set(randomBytes(16));
  const waiting = deliveries.values();
  const startedAt = performance.now();
  const lane = async () => {
    for (const delivery of waiting) await deliver(delivery);
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return performance.now() - startedAt;
});

async function deliver({ method, url, headers, copies }: Delivery): Promise<void> {
  const outgoing = request(url, {
    agent,
    method,
    headers: { ...headers, 'content-length': copies * partBytes },
  });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  const send = async () => {
    for (let copy = 0; copy < copies; copy++) {
      if (!outgoing.write(part)) await once(outgoing, 'drain');
    }
    outgoing.end();
  };
  const [[response]] = await Promise.all([answered, send()]);
  const ended = once(response, 'end');
  response.resume();
  await ended;
  const { statusCode = 0 } = response;
  if (statusCode < 200 || statusCode > 299) throw new Error(`${url} answered ${statusCode}`);
}
