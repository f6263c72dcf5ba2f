import type { Hsm } from '../hsm/hsm.ts';
import { MacLabel } from '../protocol/protocol.ts';
import { SignerRefused } from '../protocol/signer-error.ts';

/**
 * Computes the HMAC-SHA-256 of a label. Throws SignerRefused `not_permitted` for an unknown label,
 * and SignerUnavailable.
 */
export async function computeMac(hsm: Pick<Hsm, 'mac'>, label: string): Promise<Buffer> {
  const permitted = MacLabel.safeParse(label);
  if (!permitted.success)
    throw new SignerRefused('not_permitted', 'no MAC is computed for this label');
  return hsm.mac(permitted.data);
}
