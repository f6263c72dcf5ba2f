import { createHmac } from 'node:crypto';
import { networkOf } from '../../limits/network.ts';

/**
 * Returns the HMAC-SHA-256 of a client address's network in hex, the only form in which client
 * addresses are stored.
 */
export function hashClientAddress(key: Buffer, clientAddress: string): string {
  return createHmac('sha256', key).update(networkOf(clientAddress)).digest('hex');
}
