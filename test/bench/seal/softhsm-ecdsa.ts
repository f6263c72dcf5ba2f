import pkcs11js from 'pkcs11js';
import { openSoftHsmKey } from '../harness/softhsm.ts';

/**
 * Returns a function that signs a digest with the token's P-256 key through pkcs11js alone,
 * synchronously: r and s, 32 bytes each. `env` holds the variables of a signer.
 */
export function openEcdsa(env: NodeJS.ProcessEnv): (digest: Buffer) => Buffer {
  const { library, session, key } = openSoftHsmKey(env, pkcs11js.CKK_EC);
  return (digest) => {
    library.C_SignInit(session, { mechanism: pkcs11js.CKM_ECDSA }, key);
    return library.C_Sign(session, digest, Buffer.alloc(64));
  };
}
