import type { TokenState } from './protocol.ts';
import { SignerUnavailable } from './signer-error.ts';

/** Returns the error of every request while the token is in another state than `ready`. */
export function tokenAway(state: TokenState): SignerUnavailable {
  return state === 'pin_incorrect'
    ? new SignerUnavailable(
        'pin_incorrect',
        'the token refused the PIN: correct it and restart the signer, which does not try it again',
      )
    : new SignerUnavailable('hsm_unavailable', 'the HSM is unavailable: try again later');
}
