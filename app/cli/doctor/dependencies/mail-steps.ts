import { access, constants, readFile } from 'node:fs/promises';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { MailConfig } from '../../../mail/create-mailer.ts';
import { parseSmtpUrl } from '../../../mail/smtp-url.ts';
import { valueOf } from '../../../secrets/secret.ts';
import { ok, warn, type Step, type Verdict } from '../steps/steps.ts';

/** Milliseconds for the connection, with the name lookup, the greeting and STARTTLS. */
const connectMs = 8_000;

type SmtpConfig = Extract<MailConfig, { readonly driver: 'smtp' }>;

/** Examines where e-mails go. Sends none. */
export function mailSteps(config: MailConfig): readonly Step[] {
  return config.driver === 'smtp' ? serverSteps(config) : directorySteps(config.directory);
}

function directorySteps(directory: string): readonly Step[] {
  return [
    {
      name: 'mail.directory',
      of: {
        what: 'the directory for e-mails',
        address: 'MAIL_DIRECTORY',
        credentials: 'the owner and mode of MAIL_DIRECTORY',
        part: 'directory',
      },
      async run() {
        await access(directory, constants.R_OK | constants.W_OK);
        return warn('e-mails are stored as files and not sent: set MAIL_URL in place of it');
      },
    },
  ];
}

function serverSteps(config: SmtpConfig): readonly Step[] {
  const { auth, requireTls, secure } = parseSmtpUrl(valueOf(config.url));
  const of = {
    what: 'the mail server',
    address: 'MAIL_URL',
    credentials: 'the user and password in MAIL_URL',
    part: 'file in MAIL_CA_FILE',
  };
  let connection: SMTPConnection;
  return [
    {
      name: 'mail.connection',
      of,
      async run() {
        connection = await connect(config);
        if (auth === undefined) connection.quit();
        return ok('the mail server greets');
      },
    },
    {
      name: 'mail.tls',
      needs: ['mail.connection'],
      of,
      run: async () => judgeTls(connection.secure, secure || requireTls),
    },
    {
      name: 'mail.login',
      needs: ['mail.connection'],
      of,
      async run() {
        if (auth === undefined) return ok('MAIL_URL has no login, so none was tried');
        await logIn(connection, { user: auth.user, pass: auth.pass });
        connection.quit();
        return ok('the mail server accepts the login');
      },
    },
  ];
}

/** Connects and greets, with TLS where the URL asks for it or the server offers it. */
async function connect({ url, caFile }: SmtpConfig): Promise<SMTPConnection> {
  const { host, port, secure, requireTls } = parseSmtpUrl(valueOf(url));
  const connection = new SMTPConnection({
    host,
    port,
    secure,
    requireTLS: requireTls,
    tls: caFile === undefined ? {} : { ca: await readFile(caFile) },
    connectionTimeout: connectMs,
    socketTimeout: connectMs,
    socketCloseTimeout: 0,
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // The listener stays, for errors that come when nobody waits any more.
  connection.on('error', reject);
  connection.on('end', () => reject(new Error('the mail server closed the connection')));
  connection.connect((error) => {
    if (error instanceof Error) reject(error);
    else resolve();
  });
  await promise;
  return connection;
}

function logIn(
  connection: SMTPConnection,
  auth: { readonly user: string; readonly pass: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.login({ credentials: auth }, (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

function judgeTls(isSecure: boolean, isRequired: boolean): Verdict {
  if (!isSecure) return warn('e-mails, with their tokens, are sent without TLS: use smtps://');
  return isRequired
    ? ok('the connection is encrypted')
    : warn('TLS is used but not required, so an attacker can prevent it: set requireTls=true');
}
