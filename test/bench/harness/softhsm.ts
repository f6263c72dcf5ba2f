import { readFileSync } from 'node:fs';
import pkcs11js from 'pkcs11js';

/** A token's private key, opened through pkcs11js alone in a session that is logged in. */
export interface SoftHsmKey {
  readonly library: pkcs11js.PKCS11;
  readonly session: pkcs11js.Handle;
  readonly key: pkcs11js.Handle;
}

/**
 * Opens the token's first private key of a type such as CKK_EC. `env` holds the variables of a
 * signer.
 */
export function openSoftHsmKey(env: NodeJS.ProcessEnv, keyType: number): SoftHsmKey {
  const library = new pkcs11js.PKCS11(env['SIGNER_LIBRARY'] ?? '');
  library.C_Initialize({ flags: pkcs11js.CKF_OS_LOCKING_OK });
  const slot = library
    .C_GetSlotList(true)
    .find((id) => library.C_GetTokenInfo(id).label.trim() === env['SIGNER_TOKEN_LABEL']);
  if (slot === undefined) throw new Error('SIGNER_TOKEN_LABEL names no token of the library');
  const session = library.C_OpenSession(slot, pkcs11js.CKF_SERIAL_SESSION);
  const pin = readFileSync(env['SIGNER_PIN_FILE'] ?? '', 'utf8').trim();
  library.C_Login(session, pkcs11js.CKU_USER, pin);
  library.C_FindObjectsInit(session, [
    { type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_PRIVATE_KEY },
    { type: pkcs11js.CKA_KEY_TYPE, value: keyType },
  ]);
  const key = library.C_FindObjects(session);
  library.C_FindObjectsFinal(session);
  if (key === null) throw new Error('the token has no private key of this type');
  return { library, session, key };
}
