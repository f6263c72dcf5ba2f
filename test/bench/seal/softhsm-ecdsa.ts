import pkcs11js from 'pkcs11js';
import { openSoftHsmKey } from '../harness/softhsm.ts';

/**
 * A function that signs a digest with the token's P-256 key by pkcs11js alone, called and waited for:
 * r and s, 32 bytes each. The variables are those of a signer.
 */
export function openEcdsa(env: NodeJS.ProcessEnv): (digest: Buffer) => Buffer {
  const { library, session, key } = openSoftHsmKey(env, pkcs11js.CKK_EC);
  return (digest) => {
    library.C_SignInit(session, { mechanism: pkcs11js.CKM_ECDSA }, key);
    return library.C_Sign(session, digest, Buffer.alloc(64));
  };
}
