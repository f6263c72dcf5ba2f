import type { Mail } from '../outbox/mail.ts';

export interface Mailer {
  /**
   * Sends a message. Resolves once the mail server accepted it for the recipient, or once it is
   * durable on disk. A message that is sent again with the same id has the same Message-ID. Throws
   * PermanentFailure if a retry cannot help. Errors MUST NOT contain e-mail addresses or secrets.
   */
  send(mail: Mail, id: string): Promise<void>;
  /** Closes idle connections; messages in transit are finished first. */
  close(): void;
}
