import { z } from 'zod';

/** The purposes of signing keys that the signer knows; a test compares the two lists. */
export const SigningPurpose = z.enum(['audit', 'token']);
export type SigningPurpose = z.output<typeof SigningPurpose>;
