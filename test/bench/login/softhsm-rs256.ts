import { readFileSync } from 'node:fs';
import pkcs11js from 'pkcs11js';

/**
 * A function that makes one RS256 signature with the token's RSA key by pkcs11js alone, called and
 * waited for. The variables are those of a signer.
 */
export function openRs256(env: NodeJS.ProcessEnv): () => Buffer {
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
    { type: pkcs11js.CKA_KEY_TYPE, value: pkcs11js.CKK_RSA },
  ]);
  const key = library.C_FindObjects(session);
  library.C_FindObjectsFinal(session);
  if (!key) throw new Error('the token has no RSA key');
  const input = Buffer.alloc(600, 'a');
  return () => {
    library.C_SignInit(session, { mechanism: pkcs11js.CKM_SHA256_RSA_PKCS }, key);
    return library.C_Sign(session, input, Buffer.alloc(512));
  };
}
