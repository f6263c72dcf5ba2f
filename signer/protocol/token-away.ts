import type { TokenState } from './protocol.ts';
import { SignerUnavailable } from './signer-error.ts';

/** What a request is refused with while its token is in another state than `ready`. */
export function tokenAway(state: TokenState): SignerUnavailable {
  return state === 'pin_incorrect'
    ? new SignerUnavailable('pin_incorrect', 'the token refused the PIN; it is not tried again')
    : new SignerUnavailable('hsm_unavailable', 'the HSM is away');
}
