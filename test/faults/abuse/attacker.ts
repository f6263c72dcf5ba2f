import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createSender, type Sender } from './sender.ts';

/** The loopback addresses of one attacker, from which it opens connections. */
const addresses = Array.from({ length: 8 }, (_, n) => `127.0.0.${n + 2}`);

export type Attacker = ReturnType<typeof createAttacker>;

/** The vault under attack, and the account and device that attack it. */
export interface Target {
  readonly baseUrl: string;
  readonly accessToken: string;
  readonly deviceId: string;
  /** The account's large object. */
  readonly objectId: string;
}

/** Creates an attacker with an ordinary account and device, and several addresses. */
export function createAttacker(target: Target, stop: AbortSignal) {
  const { baseUrl, accessToken, deviceId, objectId } = target;
  const { hostname, port } = new URL(baseUrl);
  const headers = {
    authorization: `Bearer ${accessToken}`,
    'x-device-id': deviceId,
    'x-schema-version': '1',
  };
  const answers = new Map<string, number>();

  async function repeat(send: () => ReturnType<Sender['send']>): Promise<void> {
    while (!stop.aborted) {
      const answer = await send().then(
        ({ status, code }) => `${status} ${code}`.trimEnd(),
        () => 'broken',
      );
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      // A broken connection is opened again, but not in a loop without a pause.
      if (answer === 'broken') await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  return {
    headers,
    objectId,
    /** The number of responses by status and error code, and of broken connections. */
    answers,

    /** Sends requests over `connections` connections, each as fast as it is answered. */
    async flood(connections: number, send: (sender: Sender) => ReturnType<Sender['send']>) {
      const senders = addresses.map((from) => createSender({ baseUrl, headers, from }));
      const loops = Array.from({ length: connections }, (_, n) =>
        repeat(() => send(senders[n % senders.length] as Sender)),
      );
      await Promise.all(loops);
      for (const sender of senders) sender[Symbol.dispose]();
    },

    /**
     * Opens connections, sends the same bytes on each, and one more byte of `drip` every second.
     * Reads nothing.
     */
    async hold(connections: number, bytes: string, drip?: string) {
      const sockets: Socket[] = [];
      for (let n = 0; n < connections && !stop.aborted; n += 1) {
        const localAddress = addresses[n % addresses.length] as string;
        const socket = connect({ host: hostname, port: Number(port), localAddress });
        socket.on('error', () => undefined).pause();
        socket.write(bytes);
        sockets.push(socket);
        if (n % 50 === 0) await once(socket, 'connect').catch(() => undefined);
      }
      const dripping = setInterval(() => {
        if (drip !== undefined) for (const socket of sockets) socket.write(drip);
      }, 1_000);
      if (!stop.aborted) await once(stop, 'abort');
      clearInterval(dripping);
      for (const socket of sockets) socket.destroy();
    },
  };
}
