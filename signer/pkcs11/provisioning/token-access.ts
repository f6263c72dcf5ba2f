import type { Workplace } from '../keys/key-creation.ts';
import { Library, type Session, type Slot } from '../library/pkcs11.ts';
import { Pkcs11Error } from '../library/pkcs11-error.ts';
import { retry } from '../library/retry.ts';

/** The library, token and PIN of the command line, which opens the token for one use at a time. */
export interface TokenAccess {
  readonly library: string;
  readonly tokenLabel: string;
  readonly pin: string;
}

class TokenMissing extends Error {}

const opening = {
  attempts: 5,
  pauseMs: 100,
  mayPass: (error: unknown) =>
    error instanceof TokenMissing || (error instanceof Pkcs11Error && error.mayPass),
};

/** Runs `work` on the initialised library and finalises the library afterwards. */
export async function withLibrary<T>(
  path: string,
  work: (library: Library) => Promise<T> | T,
): Promise<T> {
  const library = new Library(path);
  library.initialize();
  try {
    return await work(library);
  } finally {
    library.finalize();
  }
}

/**
 * Runs `work` on a logged-in read-write session. Retries the login a few times, because SoftHSM may
 * misread a token while another process writes to it.
 */
export async function withToken<T>(
  access: TokenAccess,
  work: (session: Session) => Promise<T> | T,
): Promise<T> {
  const library = new Library(access.library);
  const session = await retry(() => logIn(library, access), opening);
  try {
    return await work(session);
  } finally {
    session.close();
    library.finalize();
  }
}

/** Opens a logged-in session. If this fails, finalises the library and throws the error. */
function logIn(library: Library, { tokenLabel, pin }: TokenAccess): Session {
  library.initialize();
  try {
    const session = library.openSession(loadSlot(library, tokenLabel), { readWrite: true });
    session.login(pin);
    return session;
  } catch (error) {
    library.finalize();
    throw error;
  }
}

/** Returns a token for creating keys that initialises the library and logs in for each use. */
export function workIn(access: TokenAccess): Workplace {
  return { use: (work) => withToken(access, work), renew: async () => {} };
}

/** Finds the slot of the token with this label. Throws if there is none. */
export function loadSlot(library: Library, tokenLabel: string): Slot {
  const slot = library.findToken(tokenLabel);
  if (slot === undefined)
    throw new TokenMissing(`no token is labelled ${tokenLabel}: run init, or check the label`);
  return slot;
}
