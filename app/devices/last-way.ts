import type { Owner, Tx } from '../db/database.ts';
import { listWays } from '../envelopes/rows.ts';
import { lockActiveDevicesAnd } from '../sessions/active-device.ts';

/**
 * Returns whether the envelope of a device is the last way to the master key. Envelopes that were
 * stored without a fresh proof of identity do not count as other ways, since somebody who stole an
 * access token can add them. Locks the user's active devices if only devices could be other ways,
 * so that concurrent revocations cannot remove all of them.
 */
export async function isLastWay(tx: Tx, owner: Owner, deviceId: string): Promise<boolean> {
  const others = async () => {
    const ways = await listWays(tx, owner);
    return ways.filter((way) => way.isProven && way.deviceId !== deviceId);
  };
  // Nothing removes a master or recovery envelope before the account is closed.
  if ((await others()).some(({ kind }) => kind !== 'DEVICE')) return false;
  await lockActiveDevicesAnd(tx, owner, deviceId);
  const ways = await listWays(tx, owner);
  return ways.some((way) => way.deviceId === deviceId) && (await others()).length === 0;
}
