import type { ServerResponse } from 'node:http';
import { idleMs } from '../requests/idle-clients.ts';

/**
 * Disconnects a client that reads nothing of a response for `limitMs`. Call it when the response is
 * about to be sent.
 */
export function limitIdleReader(response: ServerResponse, limitMs = idleMs): void {
  response.setTimeout(limitMs, () => response.destroy());
}
