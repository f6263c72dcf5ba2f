import type { TokenState } from './protocol.ts';
import { SignerUnavailable } from './signer-error.ts';

/** Returns the error with which requests fail while the state of the token is not `ready`. */
export function tokenAway(state: TokenState): SignerUnavailable {
  return state === 'pin_incorrect'
    ? new SignerUnavailable(
        'pin_incorrect',
        'the token refused the PIN: correct the PIN, then restart the signer, which does not retry',
      )
    : new SignerUnavailable('hsm_unavailable', 'the HSM is unavailable: try again later');
}
