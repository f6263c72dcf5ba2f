import { withHostLock } from './host-lock.ts';
import { createFirstKey } from '../keys/key-creation.ts';
import { formatKeyLabel, keyPurposes } from '../keys/key-label.ts';
import type { Library, Slot } from '../library/pkcs11.ts';
import { loadSlot, withLibrary, workIn, type TokenAccess } from './token-access.ts';

type ProvisionOptions = TokenAccess & {
  /** Needed only where the token or its user PIN is still to be made. */
  soPin: string | undefined;
  rsaBits: number;
};

/**
 * Makes what is missing of the token and of each purpose's first key, and returns the lines to
 * print about it: none when everything was there. Several may do so at once.
 */
export async function provision(options: ProvisionOptions): Promise<string[]> {
  const token = await withHostLock(options.tokenLabel, () => prepareToken(options));
  const keys: string[] = [];
  for (const purpose of keyPurposes) {
    if (await createFirstKey(workIn(options), { purpose, rsaBits: options.rsaBits }))
      keys.push(`generated key ${formatKeyLabel(purpose, 1)}`);
  }
  return [...token, ...keys];
}

async function prepareToken(options: ProvisionOptions): Promise<string[]> {
  const done: string[] = [];
  await withLibrary(options.library, (library) => {
    if (library.findToken(options.tokenLabel)) return;
    initToken(library, options);
    done.push(`initialised token ${options.tokenLabel}`);
  });
  // Slots may be numbered anew after C_InitToken, so the library starts afresh.
  await withLibrary(options.library, (library) => {
    const slot = loadSlot(library, options.tokenLabel);
    if (slot.userPinSet) return;
    initUserPin(library, slot, options);
    done.push('set the user PIN');
  });
  return done;
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

function requireSoPin(soPin: string | undefined): string {
  if (soPin === undefined) throw new Error('SIGNER_SO_PIN_FILE is needed to initialise the token');
  return soPin;
}
