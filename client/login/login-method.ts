import { masterEnvelopeLabel, srpAuthLabel } from './password.ts';

/** A way to log in with a secret, from which two keys are derived. */
export interface LoginMethod {
  readonly name: 'password' | 'recovery';
  /** Label of the key from which the SRP verifier is computed. */
  readonly authLabel: string;
  /** Label of the key that wraps the master key. */
  readonly envelopeLabel: string;
}

export const passwordMethod: LoginMethod = {
  name: 'password',
  authLabel: srpAuthLabel,
  envelopeLabel: masterEnvelopeLabel,
};

/** The login with recovery words. Its secret is the phrase that `parseRecoveryWords` returns. */
export const recoveryWords: LoginMethod = {
  name: 'recovery',
  authLabel: 'Service_Recovery_Auth_v1',
  envelopeLabel: 'Service_Recovery_Envelope_v1',
};
