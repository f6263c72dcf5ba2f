import type { Mail } from '../outbox/mail.ts';

export interface Mailer {
  /**
   * Resolves once the next hop answers for the message: the mail server accepted it for this
   * recipient, or it is durable on disk. The same id again sends the same Message-ID again.
   * Throws PermanentFailure when trying again would not help. No error names an address or a secret.
   */
  send(mail: Mail, id: string): Promise<void>;
  /** Lets go of idle connections; what is being sent is finished first. */
  close(): void;
}
