import { readFile } from 'node:fs/promises';
import { createTransport } from 'nodemailer';
import type { Log } from '../telemetry/log.ts';
import type { Mailer } from './mailer.ts';
import { createComposer, domainOf, type MessageOptions } from './message.ts';
import { Sender } from './sender.ts';
import { smtpFailure } from './smtp-failure.ts';
import { parseSmtpUrl } from './smtp-url.ts';

interface SmtpMailerOptions extends MessageOptions {
  /** URL of the mail server; see SmtpUrl. */
  readonly url: string;
  /** PEM file of the only trusted certificate authorities; the system's by default. */
  readonly caFile?: string | undefined;
  readonly log: Log;
}

/**
 * Creates a mailer for a mail server, which need not be reachable yet. Rejects if the CA file
 * cannot be read.
 */
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
    // The name for EHLO. By default it would be the host name, which for a pod means nothing to a
    // mail server.
    name: domainOf(Sender.parse(options.from)),
    // This limit covers DNS lookup, connection, greeting and STARTTLS.
    connectionTimeout: stepMs,
    socketTimeout: stepMs,
  });
  return {
    async send(mail, id) {
      const message = compose(mail, id);
      // Limits the whole delivery: a server that responds byte by byte never exceeds the timeout of
      // a step.
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
