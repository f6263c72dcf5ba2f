import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../../limits/network.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { respond } from './refusal.ts';

/** Limits on the open connections of one listener. */
export interface ConnectionLimits {
  /** Connections of one client address; an IPv6 /64 counts as one address. */
  readonly connectionsPerAddress: number;
  /** Connections of all clients. */
  readonly connections: number;
  /** Returns whether an address is a trusted proxy, which has no limit of its own. */
  readonly isProxy: (address: string) => boolean;
}

const warningEveryMs = 60_000;

/**
 * Refuses connections above the limits, with the error busy. Logs a warning, at most once a
 * minute.
 */
export function limitConnections(server: Server, limits: ConnectionLimits, log: Log): void {
  const openOf = new Map<string, number>();
  let open = 0;
  let warnedAt = -Infinity;

  function refuse(socket: Socket, which: string): void {
    const now = performance.now();
    if (now - warnedAt >= warningEveryMs) {
      warnedAt = now;
      log.warn({ limit: which, open }, 'connections are refused: the limit is reached');
    }
    socket.on('error', () => undefined);
    respond(socket, new AppError('busy'));
    socket.destroySoon();
  }

  function count(network: string, change: number): void {
    open += change;
    const left = (openOf.get(network) ?? 0) + change;
    if (left === 0) openOf.delete(network);
    else openOf.set(network, left);
  }

  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const network = networkOf(address);
    const isFull = open >= limits.connections;
    const isOver = (openOf.get(network) ?? 0) >= limits.connectionsPerAddress;
    if (isFull) return refuse(socket, 'HTTP_CONNECTIONS');
    if (isOver && !limits.isProxy(address)) return refuse(socket, 'HTTP_CONNECTIONS_PER_ADDRESS');
    count(network, 1);
    socket.once('close', () => count(network, -1));
  });
}
