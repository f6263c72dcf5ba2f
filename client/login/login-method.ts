import { MASTER_ENVELOPE_LABEL, SRP_AUTH_LABEL } from './password.ts';

/** A way to log in: by a secret of its own, of which two keys are made. */
export interface LoginMethod {
  readonly name: 'password' | 'recovery';
  /** Of the key behind the SRP verifier. */
  readonly authLabel: string;
  /** Of the key that wraps the master key. */
  readonly envelopeLabel: string;
}

export const PASSWORD: LoginMethod = {
  name: 'password',
  authLabel: SRP_AUTH_LABEL,
  envelopeLabel: MASTER_ENVELOPE_LABEL,
};

/** The secret is what `parseRecoveryWords` makes of the words. */
export const RECOVERY_WORDS: LoginMethod = {
  name: 'recovery',
  authLabel: 'Service_Recovery_Auth_v1',
  envelopeLabel: 'Service_Recovery_Envelope_v1',
};
