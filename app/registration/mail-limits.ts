import { networkOf } from '../limits/network.ts';
import type { RateLimits } from '../limits/rate-limits.ts';

/**
 * Counts a request that causes an e-mail about a registration. Resolves with whether the e-mail may
 * be sent. A client address that has used up its share leaves the rest of the e-mails to others,
 * such as the owner. Throws rate_limited if the client address made too many requests.
 */
export async function admitMail(
  limits: RateLimits,
  clientAddress: string,
  email: string,
): Promise<boolean> {
  await limits.consume('register-address', clientAddress);
  const share = `${networkOf(clientAddress)} ${email}`;
  if (!(await limits.tryConsume('register-email-client', share))) return false;
  return limits.tryConsume('register-email', email);
}
