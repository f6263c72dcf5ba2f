import pkcs11js from 'pkcs11js';
import { openSoftHsmKey } from '../harness/softhsm.ts';

/**
 * Returns a function that makes one RS256 signature with the token's RSA key through pkcs11js
 * alone, synchronously. `env` holds the variables of a signer.
 */
export function openRs256(env: NodeJS.ProcessEnv): () => Buffer {
  const { library, session, key } = openSoftHsmKey(env, pkcs11js.CKK_RSA);
  const input = Buffer.alloc(600, 'a');
  return () => {
    library.C_SignInit(session, { mechanism: pkcs11js.CKM_SHA256_RSA_PKCS }, key);
    return library.C_Sign(session, input, Buffer.alloc(512));
  };
}
