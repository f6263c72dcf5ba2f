import type { SignerClient } from '../../../signer/protocol/client.ts';

/** Returns the present time by the clock of a signer. */
export type SignerClock = () => Date;

/**
 * Reads the signer's clock once. Resolves with the time since then, by the monotonic clock of this
 * process, so that a transaction can ask for it: it is ahead of the signer's clock by the time of
 * the request at most, and never behind. Throws SignerUnavailable.
 */
export async function readSignerClock(signer: Pick<SignerClient, 'health'>): Promise<SignerClock> {
  const askedAt = performance.now();
  const readAt = Date.parse((await signer.health()).time);
  return () => new Date(Math.ceil(readAt + performance.now() - askedAt));
}
