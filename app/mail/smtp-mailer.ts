import { readFile } from 'node:fs/promises';
import { createTransport } from 'nodemailer';
import type { Log } from '../telemetry/log.ts';
import type { Mailer } from './mailer.ts';
import { createComposer, domainOf, type MessageOptions } from './message.ts';
import { Sender } from './sender.ts';
import { smtpFailure } from './smtp-failure.ts';
import { parseSmtpUrl } from './smtp-url.ts';

interface SmtpMailerOptions extends MessageOptions {
  /** See SmtpUrl. */
  readonly url: string;
  /** PEM. The only authorities whose certificates are trusted; the system's unless given. */
  readonly caFile?: string | undefined;
  readonly log: Log;
}

/** Hands each message to a mail server. It need not be reachable yet; only the CA file is read. */
export async function createSmtpMailer(options: SmtpMailerOptions): Promise<Mailer> {
  const { url, caFile, log } = options;
  const { host, port, secure, auth, requireTls, timeoutSeconds } = parseSmtpUrl(url);
  const compose = createComposer(options);
  const stepMs = timeoutSeconds * 1000;
  const pool = createTransport({
    pool: true,
    host,
    port,
    secure,
    auth,
    requireTLS: requireTls,
    tls: caFile === undefined ? {} : { ca: await readFile(caFile) },
    // A pod's own name means nothing to a mail server.
    name: domainOf(Sender.parse(options.from)),
    // From the look-up of the name to the greeting and the end of STARTTLS.
    connectionTimeout: stepMs,
    socketTimeout: stepMs,
  });
  return {
    async send(mail, id) {
      const message = compose(mail, id);
      // A server that trickles along never runs into the timeout of a step.
      const signal = AbortSignal.timeout(2 * stepMs);
      try {
        await pool.sendMail({ ...message, signal });
      } catch (error) {
        throw smtpFailure(error);
      }
      log.info({ messageId: id, template: mail.template }, 'e-mail accepted by the mail server');
    },
    close: () => pool.close(),
  };
}
