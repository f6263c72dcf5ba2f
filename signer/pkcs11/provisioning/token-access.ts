import type { Workplace } from '../keys/key-creation.ts';
import { Library, type Session, type Slot } from '../library/pkcs11.ts';
import { Pkcs11Error } from '../library/pkcs11-error.ts';
import { retry } from '../library/retry.ts';

/** What it takes to use a token once, as the command line does. */
export type TokenAccess = { library: string; tokenLabel: string; pin: string };

class TokenMissing extends Error {}

const opening = {
  attempts: 5,
  pauseMs: 100,
  mayPass: (error: unknown) =>
    error instanceof TokenMissing || (error instanceof Pkcs11Error && error.mayPass),
};

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
 * Works on a session that is logged in and may write. A library that starts while others write to
 * the token may misread it for a moment (SoftHSM), so starting is tried a few times.
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

/** Throws with the library finalised. */
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

/** Each use starts the library anew and logs in. */
export function workIn(access: TokenAccess): Workplace {
  return { use: (work) => withToken(access, work), renew: async () => {} };
}

/** Throws when no token has that label. */
export function loadSlot(library: Library, tokenLabel: string): Slot {
  const slot = library.findToken(tokenLabel);
  if (!slot) throw new TokenMissing(`no token is labelled ${tokenLabel}`);
  return slot;
}
