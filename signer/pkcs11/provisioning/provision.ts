import { withHostLock } from './host-lock.ts';
import { createFirstKey } from '../keys/key-creation.ts';
import { formatKeyLabel, keyPurposes } from '../keys/key-label.ts';
import type { Library, Slot } from '../library/pkcs11.ts';
import { loadSlot, withLibrary, workIn, type TokenAccess } from './token-access.ts';

interface ProvisionOptions extends TokenAccess {
  /** PIN of the security officer, needed only to initialise the token or to set its user PIN. */
  readonly soPin: string | undefined;
  readonly rsaBits: number;
  /** Highest generation that ever existed, if this token takes the place of a lost one; else 0. */
  readonly after: number;
}

/**
 * Initialises the token and creates the first key of each purpose, unless they exist. Resolves with
 * one line to print for each step that was carried out. Safe to run concurrently.
 */
export async function provision(options: ProvisionOptions): Promise<string[]> {
  // The lock is held for the keys too: while one process writes to a token of SoftHSM, another one
  // may not find it, and would initialise a second one.
  return withHostLock(options.tokenLabel, async () => {
    const token = await prepareToken(options);
    const { after, rsaBits } = options;
    const keys: string[] = [];
    for (const purpose of keyPurposes) {
      if (await createFirstKey(workIn(options), { purpose, after, rsaBits }))
        keys.push(`generated key ${formatKeyLabel(purpose, after + 1)}`);
    }
    return [...token, ...keys];
  });
}

async function prepareToken(options: ProvisionOptions): Promise<string[]> {
  const done: string[] = [];
  await withLibrary(options.library, (library) => {
    if (library.findToken(options.tokenLabel) !== undefined) return;
    initToken(library, options);
    done.push(`initialised token ${options.tokenLabel}`);
  });
  // C_InitToken may renumber the slots, so the library is initialised again.
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
  if (free === undefined)
    throw new Error('no slot holds an uninitialised token: add one to the HSM, or free a slot');
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
  if (soPin === undefined)
    throw new Error('set SIGNER_SO_PIN_FILE: it is needed to initialise the token and its PIN');
  return soPin;
}
