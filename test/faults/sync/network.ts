import type { JsonObject } from '../../../client/sync/objects/json.ts';

/** A write as it was sent, and the vault's response. */
export interface WireWrite {
  readonly deviceId: string;
  readonly requestId: string;
  readonly sentAt: number;
  readonly body: {
    readonly objectId: string;
    readonly changedAt?: string;
    readonly delta?: JsonObject;
  };
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
}

/**
 * A network between a device and the vault that loses requests and responses, and sends some
 * requests twice or much later.
 */
export interface FaultyNetwork {
  readonly fetch: typeof globalThis.fetch;
  isOnline: boolean;
  isFaulty: boolean;
}

interface NetworkOptions {
  readonly deviceId: string;
  readonly random: () => number;
  /** Returns whether the sending process is still alive. */
  readonly isAlive: () => boolean;
  /**
   * Called with every write that the vault answered, even if the device does not get the response.
   */
  readonly record: (write: WireWrite) => void;
}

export function createFaultyNetwork(options: NetworkOptions): FaultyNetwork {
  const { random, isAlive } = options;
  const late: Parameters<typeof globalThis.fetch>[] = [];

  async function deliver(...args: Parameters<typeof globalThis.fetch>): Promise<Response> {
    const response = await fetch(...args);
    if (args[1]?.method === 'POST') await recordWrite(options, args, response.clone());
    return response;
  }

  const network: FaultyNetwork = {
    isOnline: true,
    isFaulty: true,
    async fetch(...args) {
      const chance = network.isFaulty ? random() : 1;
      if (!isAlive() || !network.isOnline || chance < 0.03) throw new TypeError('not sent');
      if (chance < 0.05 && args[1]?.method === 'POST') late.push(args);
      const old = chance < 0.07 ? late.shift() : undefined;
      if (old !== undefined) await deliver(...old);
      const isTwice = chance > 0.1 && chance < 0.15;
      const copies = isTwice ? [deliver(...args), deliver(...args)] : [deliver(...args)];
      const [response] = await Promise.all(copies);
      if (response === undefined || !isAlive() || chance < 0.1) {
        throw new TypeError('the response is lost');
      }
      return response;
    },
  };
  return network;
}

async function recordWrite(
  { deviceId, record }: NetworkOptions,
  [, init]: Parameters<typeof globalThis.fetch>,
  response: Response,
): Promise<void> {
  record({
    deviceId,
    requestId: new Headers(init?.headers).get('x-sync-request-id') ?? '',
    sentAt: Date.now(),
    body: JSON.parse(init?.body as string) as WireWrite['body'],
    status: response.status,
    answer: (await response.json()) as WireWrite['answer'],
  });
}
