import { networkOf } from '../../limits/network.ts';
import type { Caller, InternalCaller } from './caller.ts';
import type { Origin } from './request.ts';

/** Returns the key of the client whose requests take turns: a user, or a client's network. */
export function clientOf(
  caller: Caller | InternalCaller | undefined,
  { clientAddress }: Pick<Origin, 'clientAddress'>,
): string {
  return caller !== undefined && 'userId' in caller
    ? `user ${caller.userId}`
    : networkOf(clientAddress);
}
