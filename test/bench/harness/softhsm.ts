import { readFileSync } from 'node:fs';
import pkcs11js from 'pkcs11js';

/** A private key of a token by pkcs11js alone, in a session that is logged in. */
export interface SoftHsmKey {
  readonly library: pkcs11js.PKCS11;
  readonly session: pkcs11js.Handle;
  readonly key: pkcs11js.Handle;
}

/** The token's first private key of the type, such as CKK_EC. The variables are those of a signer. */
export function openSoftHsmKey(env: NodeJS.ProcessEnv, keyType: number): SoftHsmKey {
  const library = new pkcs11js.PKCS11(env['SIGNER_LIBRARY'] ?? '');
  library.C_Initialize({ flags: pkcs11js.CKF_OS_LOCKING_OK });
  const slot = library
    .C_GetSlotList(true)
    .find((id) => library.C_GetTokenInfo(id).label.trim() === env['SIGNER_TOKEN_LABEL']);
  if (slot === undefined) throw new Error('no such token');
  const session = library.C_OpenSession(slot, pkcs11js.CKF_SERIAL_SESSION);
  const pin = readFileSync(env['SIGNER_PIN_FILE'] ?? '', 'utf8').trim();
  library.C_Login(session, pkcs11js.CKU_USER, pin);
  library.C_FindObjectsInit(session, [
    { type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_PRIVATE_KEY },
    { type: pkcs11js.CKA_KEY_TYPE, value: keyType },
  ]);
  const key = library.C_FindObjects(session);
  library.C_FindObjectsFinal(session);
  if (!key) throw new Error('the token has no such key');
  return { library, session, key };
}
