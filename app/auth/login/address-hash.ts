import { createHmac } from 'node:crypto';
import { networkOf } from '../../limits/network.ts';

/** The only form in which a client's address is kept: HMAC-SHA-256 of its network, hex. */
export function hashAddress(key: Buffer, address: string): string {
  return createHmac('sha256', key).update(networkOf(address)).digest('hex');
}
