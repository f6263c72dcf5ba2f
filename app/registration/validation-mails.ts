import { createHash, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { fingerprint } from '../accounts/fingerprint.ts';
import type { Clock } from '../async/clock.ts';
import type { Tx } from '../db/database.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import { messageRow, type Outbox } from '../outbox/outbox.ts';
import { encryptMail } from '../outbox/stored-mail.ts';

/** Milliseconds for which the token of a validation e-mail is valid. */
const tokenMs = 3_600_000;

/** The account of a registration, and its salt and SRP verifier in hex. */
interface Registered {
  readonly userId: string;
  readonly email: string;
  readonly salt: string;
  readonly verifier: string;
}

interface ValidationMailsOptions {
  readonly cipher: RowCipher;
  readonly outbox: Outbox;
  readonly clock: Clock;
}

/** Creates the service that sends the tokens of registrations. */
export function createValidationMails({ cipher, outbox, clock }: ValidationMailsOptions) {
  return {
    /**
     * Makes a token for a registration and adds the e-mail with it to the outbox. Resolves with the
     * columns of the registration. Throws signer_unavailable.
     */
    async promise(
      tx: Tx,
      { userId, email, salt, verifier }: Registered,
    ): Promise<{ readonly token_hash: string; readonly expires_at: Date }> {
      const token = randomUUID();
      const expiresAt = new Date(clock().getTime() + tokenMs);
      const mail = {
        to: email,
        template: 'validate',
        values: { token, fingerprint: fingerprint(salt, verifier) },
        expiresAt: expiresAt.toISOString(),
      } as const;
      const id = uuidv7();
      await outbox.add(tx, 'email', encryptMail(cipher, messageRow(id), mail), { id, userId });
      return { token_hash: hashToken(token), expires_at: expiresAt };
    },
  };
}

/** Returns the SHA3-256 of a token in hex, the only form in which tokens are stored. */
export function hashToken(token: string): string {
  return createHash('sha3-256').update(token).digest('hex');
}
