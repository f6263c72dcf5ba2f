import { loadKeyring } from './keyring.ts';
import type { Keyring } from './keyring.ts';
import type { Library, Session, Slot } from './pkcs11.ts';
import { Pkcs11Error } from './pkcs11-error.ts';
import { SessionPool } from './session-pool.ts';

export type ConnectionOptions = {
  tokenLabel: string;
  pin: string;
  sessions: number;
  queueLimit: number;
};

/** A logged-in token. Login belongs to the process and lasts while `control` does. */
export type Connection = {
  library: Library;
  slot: Slot;
  control: Session;
  keyring: Keyring;
  pool: SessionPool<Session>;
};

/** Throws Pkcs11Error or KeyringError, and then leaves the library finalised. */
export function openConnection(library: Library, options: ConnectionOptions): Connection {
  try {
    library.initialize();
    const slot = library.findToken(options.tokenLabel);
    if (!slot) throw new Pkcs11Error('C_GetSlotList', 'CKR_TOKEN_NOT_PRESENT');
    const pool = new SessionPool({
      size: options.sessions,
      queueLimit: options.queueLimit,
      open: () => library.openSession(slot),
      survives: (error) => !(error instanceof Pkcs11Error),
    });
    return { library, slot, pool, ...logIn(library, slot, options.pin) };
  } catch (error) {
    quietly(() => library.finalize());
    throw error;
  }
}

/** The same connection after another login, with fresh key handles. Throws as openConnection. */
export function renewLogin(connection: Connection, pin: string): Connection {
  quietly(() => connection.control.close());
  return { ...connection, ...logIn(connection.library, connection.slot, pin) };
}

/** Waits for operations in flight before the library goes: C_Finalize under a call crashes. */
export async function closeConnection({ library, control, pool }: Connection): Promise<void> {
  await pool.drain();
  quietly(() => control.logout());
  quietly(() => control.close());
  quietly(() => library.finalize());
}

function logIn(library: Library, slot: Slot, pin: string): Pick<Connection, 'control' | 'keyring'> {
  const control = library.openSession(slot);
  control.login(pin);
  return { control, keyring: loadKeyring(control) };
}

/** For what may be gone already, on the way out. */
function quietly(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Pkcs11Error)) throw error;
  }
}
