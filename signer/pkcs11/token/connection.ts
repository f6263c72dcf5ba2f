import { loadKeyring, type Keyring } from '../keys/keyring.ts';
import type { Library, Session, Slot } from '../library/pkcs11.ts';
import type { PublicKeyParser } from '../keys/public-key.ts';
import { Pkcs11Error } from '../library/pkcs11-error.ts';
import { SessionPool } from './session-pool.ts';

export type ConnectionOptions = {
  tokenLabel: string;
  pin: string;
  sessions: number;
  queueLimit: number;
  /** One for all connections, since public keys outlive them. */
  parse: PublicKeyParser;
};

/** A logged-in token. Login belongs to the process and lasts while `control` does. */
export type Connection = {
  library: Library;
  slot: Slot;
  control: Session;
  keyring: Keyring;
  parse: PublicKeyParser;
  pool: SessionPool<Session>;
  /** One session beside the pool that makes keys, which may take as long as a minute. */
  writer: SessionPool<Session>;
};

/** Throws Pkcs11Error or KeyringError, and then leaves the library finalised. */
export function openConnection(library: Library, options: ConnectionOptions): Connection {
  try {
    library.initialize();
    const slot = library.findToken(options.tokenLabel);
    if (!slot) throw new Pkcs11Error('C_GetSlotList', 'CKR_TOKEN_NOT_PRESENT');
    const survives = (error: unknown) => !(error instanceof Pkcs11Error);
    const pool = new SessionPool({
      size: options.sessions,
      queueLimit: options.queueLimit,
      open: () => library.openSession(slot),
      survives,
    });
    const writer = new SessionPool({
      size: 1,
      queueLimit: 1,
      open: () => library.openSession(slot, { readWrite: true }),
      survives,
    });
    const { parse } = options;
    return { library, slot, pool, writer, parse, ...logIn({ library, slot, parse }, options.pin) };
  } catch (error) {
    quietly(() => library.finalize());
    throw error;
  }
}

/** The same connection after another login, with fresh key handles. Throws as openConnection. */
export function renewLogin(connection: Connection, pin: string): Connection {
  quietly(() => connection.control.close());
  return { ...connection, ...logIn(connection, pin) };
}

/** Waits for operations in flight before the library goes: C_Finalize under a call crashes. */
export async function closeConnection(connection: Connection): Promise<void> {
  const { library, control, pool, writer } = connection;
  await Promise.all([pool.drain(), writer.drain()]);
  quietly(() => control.logout());
  quietly(() => control.close());
  quietly(() => library.finalize());
}

function logIn(
  { library, slot, parse }: Pick<Connection, 'library' | 'slot' | 'parse'>,
  pin: string,
): Pick<Connection, 'control' | 'keyring'> {
  const control = library.openSession(slot);
  control.login(pin);
  return { control, keyring: loadKeyring(control, parse) };
}

/** For what may be gone already, on the way out. */
function quietly(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Pkcs11Error)) throw error;
  }
}
