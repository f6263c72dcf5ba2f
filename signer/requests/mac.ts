import type { z } from 'zod';
import type { Hsm } from '../hsm/hsm.ts';
import type { Mac } from '../ipc/messages.ts';
import { encryptionLabel, MacLabel, type MacRequest } from '../protocol/protocol.ts';
import { SignerRefused } from '../protocol/signer-error.ts';

/**
 * Computes the HMAC-SHA-256 of a label. Throws SignerRefused `not_permitted` for an unknown label,
 * and for a generation of a label whose MAC never changes; throws SignerUnavailable.
 */
export async function computeMac(
  hsm: Pick<Hsm, 'mac'>,
  { label, generation }: z.output<typeof MacRequest>,
): Promise<Mac> {
  if (label === encryptionLabel) return hsm.mac({ purpose: 'encryption', label, generation });
  const permitted = MacLabel.safeParse(label);
  if (!permitted.success)
    throw new SignerRefused('not_permitted', 'no MAC is computed for this label');
  if (generation !== undefined)
    throw new SignerRefused('not_permitted', 'the MAC of this label has one generation');
  return hsm.mac({ purpose: 'mac', label });
}
