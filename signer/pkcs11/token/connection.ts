import { loadKeyring, type Keyring } from '../keys/keyring.ts';
import type { Library, Session, Slot } from '../library/pkcs11.ts';
import type { PublicKeyParser } from '../keys/public-key.ts';
import { Pkcs11Error } from '../library/pkcs11-error.ts';
import { SessionPool } from './session-pool.ts';

export interface ConnectionOptions {
  readonly tokenLabel: string;
  readonly pin: string;
  readonly sessions: number;
  readonly queueLimit: number;
  /** Parser of public keys. All connections share it, so that its cache outlives each of them. */
  readonly parse: PublicKeyParser;
}

/** A logged-in token. The login belongs to the process and lasts as long as `control` is open. */
export interface Connection {
  readonly library: Library;
  readonly slot: Slot;
  readonly control: Session;
  /** The keys of the token; replaced when the keys are read again. */
  keyring: Keyring;
  readonly parse: PublicKeyParser;
  readonly pool: SessionPool<Session>;
  /** A session outside of the pool that creates keys, which may take up to a minute. */
  readonly writer: SessionPool<Session>;
}

/**
 * Opens a connection to the token. On failure, finalises the library and throws Pkcs11Error or
 * KeyringError.
 */
export function openConnection(library: Library, options: ConnectionOptions): Connection {
  try {
    library.initialize();
    const slot = library.findToken(options.tokenLabel);
    if (slot === undefined) throw new Pkcs11Error('C_GetSlotList', 'CKR_TOKEN_NOT_PRESENT');
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

/**
 * Logs in again and returns the connection with fresh key handles. Throws Pkcs11Error or
 * KeyringError.
 */
export function renewLogin(connection: Connection, pin: string): Connection {
  quietly(() => connection.control.close());
  return { ...connection, ...logIn(connection, pin) };
}

/**
 * Closes the connection once the operations in progress have finished, because C_Finalize would
 * crash the process during a call.
 */
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

/** Runs a clean-up step and ignores its Pkcs11Error: the object may no longer exist. */
function quietly(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Pkcs11Error)) throw error;
  }
}
