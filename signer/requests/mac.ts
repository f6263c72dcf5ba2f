import type { Hsm } from '../hsm/hsm.ts';
import { MacLabel } from '../protocol/protocol.ts';
import { SignerRefused } from '../protocol/signer-error.ts';

/** HMAC-SHA-256 of a permitted label. Throws SignerRefused `not_permitted`, SignerUnavailable. */
export async function computeMac(hsm: Pick<Hsm, 'mac'>, label: string): Promise<Buffer> {
  const permitted = MacLabel.safeParse(label);
  if (!permitted.success) throw new SignerRefused('not_permitted', 'this label has no MAC');
  return hsm.mac(permitted.data);
}
