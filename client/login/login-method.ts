import { masterEnvelopeLabel, srpAuthLabel } from './password.ts';

/** A way to log in: by a secret of its own, of which two keys are made. */
export interface LoginMethod {
  readonly name: 'password' | 'recovery';
  /** Of the key behind the SRP verifier. */
  readonly authLabel: string;
  /** Of the key that wraps the master key. */
  readonly envelopeLabel: string;
}

export const passwordMethod: LoginMethod = {
  name: 'password',
  authLabel: srpAuthLabel,
  envelopeLabel: masterEnvelopeLabel,
};

/** The secret is what `parseRecoveryWords` makes of the words. */
export const recoveryWords: LoginMethod = {
  name: 'recovery',
  authLabel: 'Service_Recovery_Auth_v1',
  envelopeLabel: 'Service_Recovery_Envelope_v1',
};
