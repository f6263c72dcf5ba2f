import { readFile } from 'node:fs/promises';
import { createTransport } from 'nodemailer';
import { valueOf, type Secret } from '../secrets/secret.ts';
import type { Log } from '../telemetry/log.ts';
import type { Mailer } from './mailer.ts';
import { createComposer, domainOf, type MessageOptions } from './message.ts';
import { Sender } from './sender.ts';
import { smtpFailure } from './smtp-failure.ts';
import { parseSmtpUrl } from './smtp-url.ts';

interface SmtpMailerOptions extends MessageOptions {
  /** URL of the mail server; see SmtpUrl. Each e-mail goes to the present one. */
  readonly url: Secret;
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
  const compose = createComposer(options);
  const connection = {
    tls: caFile === undefined ? {} : { ca: await readFile(caFile) },
    // The name for EHLO. By default it would be the host name, which for a pod means nothing to a
    // mail server.
    name: domainOf(Sender.parse(options.from)),
  };
  let current = openPool(valueOf(url), connection);

  /** Returns the pool of the present URL. An earlier one is closed once its e-mails are sent. */
  function present(): Pool {
    const now = valueOf(url);
    if (now !== current.url) {
      const { sending, transport } = current;
      void Promise.allSettled(sending).then(() => transport.close());
      current = openPool(now, connection);
    }
    return current;
  }

  return {
    async send(mail, id) {
      const message = compose(mail, id);
      const { transport, sending, stepMs } = present();
      // Limits the whole delivery: a server that responds byte by byte never exceeds the timeout of
      // a step.
      const signal = AbortSignal.timeout(2 * stepMs);
      const delivery = transport.sendMail({ ...message, signal });
      sending.add(delivery);
      try {
        await delivery;
      } catch (error) {
        throw smtpFailure(error);
      } finally {
        sending.delete(delivery);
      }
      log.info({ messageId: id, template: mail.template }, 'e-mail accepted by the mail server');
    },
    close: () => current.transport.close(),
  };
}

type Pool = ReturnType<typeof openPool>;

/** Opens connections to a mail server as they are needed. */
function openPool(
  url: string,
  connection: { readonly tls: { readonly ca?: Buffer }; readonly name: string },
) {
  const { host, port, secure, auth, requireTls, timeoutSeconds } = parseSmtpUrl(url);
  const stepMs = timeoutSeconds * 1000;
  const transport = createTransport({
    pool: true,
    host,
    port,
    secure,
    auth,
    requireTLS: requireTls,
    ...connection,
    // This limit covers DNS lookup, connection, greeting and STARTTLS.
    connectionTimeout: stepMs,
    socketTimeout: stepMs,
  });
  return { url, transport, stepMs, sending: new Set<Promise<unknown>>() };
}
