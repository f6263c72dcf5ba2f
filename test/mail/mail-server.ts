import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { freePort } from '../../app/dev/processes/free-port.ts';
import { listenOn } from '../support/network/listen-on.ts';

export const user = 'the vault';
export const password = 'p@ss/w:rd #1';

export interface Delivery {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  readonly isEncrypted: boolean;
  readonly user: string | undefined;
  /** The name that the client gave for itself. */
  readonly client: string;
}

/** A real mail server on 127.0.0.1, whose responses a test decides. */
export interface MailServer extends AsyncDisposable {
  /** `host:port` */
  readonly host: string;
  /** All messages the server accepted. */
  readonly deliveries: readonly Delivery[];
  /** Breaks every connection and accepts no new one. */
  close(): Promise<void>;
  /** Opens the server again, on the same port. */
  open(): Promise<void>;
}

/** Returns an error that makes smtp-server refuse with this code. */
export const refusal = (responseCode: number, words: string) =>
  Object.assign(new Error(words), { responseCode });

/**
 * Starts a server that accepts a login of `user` and requires none, unless `settings` override
 * that.
 */
export async function startMailServer(settings: SMTPServerOptions): Promise<MailServer> {
  const deliveries: Delivery[] = [];
  const create = () =>
    new SMTPServer({
      authOptional: true,
      disableReverseLookup: true,
      closeTimeout: 1,
      onAuth(login, _session, callback) {
        const isRight = login.username === user && login.password === password;
        callback(isRight ? null : refusal(535, 'no such login'), { user: login.username });
      },
      onData(stream, session, callback) {
        const chunks: Buffer[] = [];
        stream
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => {
            deliveries.push(delivery(session, Buffer.concat(chunks).toString()));
            callback();
          });
      },
      ...settings,
    }).on('error', () => undefined);

  const port = await freePort();
  let server: SMTPServer;
  async function open(): Promise<void> {
    server = create();
    await listenOn(server.server, port);
  }
  await open();
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return {
    host: `127.0.0.1:${port}`,
    deliveries,
    close,
    open,
    [Symbol.asyncDispose]: close,
  };
}

function delivery(session: SMTPServerSession, raw: string): Delivery {
  const { mailFrom, rcptTo } = session.envelope;
  return {
    from: mailFrom === false ? '' : mailFrom.address,
    to: rcptTo.map(({ address }) => address),
    raw,
    isEncrypted: session.secure,
    user: session.user,
    client: session.hostNameAppearsAs,
  };
}
