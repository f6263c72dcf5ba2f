import { keyPurposes, formatKeyLabel } from './key-label.ts';
import { generateKey } from './key-templates.ts';
import { findKeys } from './keyring.ts';
import type { SigningKey } from './keyring.ts';
import { Library } from './pkcs11.ts';
import type { Session, Slot } from './pkcs11.ts';

export type ProvisionOptions = {
  library: string;
  tokenLabel: string;
  pin: string;
  /** Needed only where the token or its user PIN is still to be made. */
  soPin: string | undefined;
  rsaBits: number;
};

/**
 * Makes what is missing of the token and of each purpose's first key, and returns the lines to
 * print about it: none when everything was there.
 */
export function provision(options: ProvisionOptions): string[] {
  const done: string[] = [];
  withLibrary(options.library, (library) => {
    if (library.findToken(options.tokenLabel)) return;
    initToken(library, options);
    done.push(`initialised token ${options.tokenLabel}`);
  });
  // Slots may be numbered anew after C_InitToken, so the library starts afresh.
  withLibrary(options.library, (library) => {
    const slot = loadToken(library, options.tokenLabel);
    if (!slot.userPinSet) {
      initUserPin(library, slot, options);
      done.push('set the user PIN');
    }
    withUser(library, slot, options.pin, (session) => {
      done.push(...generateMissingKeys(session, options.rsaBits));
    });
  });
  return done;
}

/** The public keys of all generations. Throws when there is no such token. */
export function listPublicKeys(
  options: Pick<ProvisionOptions, 'library' | 'tokenLabel' | 'pin'>,
): SigningKey[] {
  return withLibrary(options.library, (library) =>
    withUser(
      library,
      loadToken(library, options.tokenLabel),
      options.pin,
      (session) => findKeys(session).signingKeys,
    ),
  );
}

function initToken(library: Library, { tokenLabel, soPin }: ProvisionOptions): void {
  const free = library.listSlots().find((slot) => !slot.initialized);
  if (!free) throw new Error('no slot holds an uninitialised token');
  library.initToken(free, requireSoPin(soPin), tokenLabel);
}

function initUserPin(library: Library, slot: Slot, { pin, soPin }: ProvisionOptions): void {
  const session = library.openSession(slot, { readWrite: true });
  session.loginAsSecurityOfficer(requireSoPin(soPin));
  session.initPin(pin);
  session.logout();
  session.close();
}

function generateMissingKeys(session: Session, rsaBits: number): string[] {
  const { signingKeys, macKeys } = findKeys(session);
  const present = new Set<string>([...signingKeys, ...macKeys].map((key) => key.purpose));
  return keyPurposes
    .filter((purpose) => !present.has(purpose))
    .map((purpose) => {
      generateKey[purpose](session, { generation: 1, rsaBits });
      return `generated key ${formatKeyLabel(purpose, 1)}`;
    });
}

function loadToken(library: Library, label: string): Slot {
  const slot = library.findToken(label);
  if (!slot) throw new Error(`no token is labelled ${label}`);
  return slot;
}

function requireSoPin(soPin: string | undefined): string {
  if (soPin === undefined) throw new Error('SIGNER_SO_PIN_FILE is needed to initialise the token');
  return soPin;
}

function withLibrary<T>(path: string, run: (library: Library) => T): T {
  const library = new Library(path);
  library.initialize();
  try {
    return run(library);
  } finally {
    library.finalize();
  }
}

function withUser<T>(library: Library, slot: Slot, pin: string, run: (session: Session) => T): T {
  const session = library.openSession(slot, { readWrite: true });
  try {
    session.login(pin);
    return run(session);
  } finally {
    session.close();
  }
}
