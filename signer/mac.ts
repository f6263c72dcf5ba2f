import type { Hsm } from './hsm.ts';
import { CKM_SHA256_HMAC } from './pkcs11.ts';
import { MacLabel } from './protocol.ts';
import { SignerRefused } from './signer-error.ts';

const MAC_BYTES = 32;

/** HMAC-SHA-256 of a permitted label. Throws SignerRefused `not_permitted`, SignerUnavailable. */
export async function computeMac(hsm: Pick<Hsm, 'run'>, label: string): Promise<Buffer> {
  const permitted = MacLabel.safeParse(label);
  if (!permitted.success) throw new SignerRefused('not_permitted', 'this label has no MAC');
  return hsm.run((session, { mac }) =>
    session.sign(CKM_SHA256_HMAC, mac.handle, Buffer.from(permitted.data), MAC_BYTES),
  );
}
