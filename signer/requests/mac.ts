import type { z } from 'zod';
import type { Hsm } from '../hsm/hsm.ts';
import type { Mac } from '../ipc/messages.ts';
import {
  encryptionLabel,
  MacLabel,
  totpLabel,
  totpSecretBytes,
  type MacRequest,
  type TotpRequest,
} from '../protocol/protocol.ts';
import { SignerRefused } from '../protocol/signer-error.ts';

type MacHsm = Pick<Hsm, 'mac'>;

/**
 * Computes the HMAC-SHA-256 of a label, or the secret of a user's one-time codes. Throws
 * SignerRefused `not_permitted` for an unknown label, and for a generation of a label whose MAC
 * never changes; throws SignerUnavailable.
 */
export async function computeMac(hsm: MacHsm, request: z.output<typeof MacRequest>): Promise<Mac> {
  if ('nonce' in request) return computeTotpSecret(hsm, request);
  const { label, generation } = request;
  if (label === encryptionLabel) return hsm.mac({ purpose: 'encryption', label, generation });
  const permitted = MacLabel.safeParse(label);
  if (!permitted.success)
    throw new SignerRefused('not_permitted', 'no MAC is computed for this label');
  if (generation !== undefined)
    throw new SignerRefused('not_permitted', 'the MAC of this label has one generation');
  return hsm.mac({ purpose: 'mac', label });
}

/**
 * Computes the secret of a user's one-time codes. No label that is on the list contains a colon, so
 * that no other request gets these bytes.
 */
async function computeTotpSecret(
  hsm: MacHsm,
  { user, nonce, generation }: TotpRequest,
): Promise<Mac> {
  const label = `${totpLabel}:${user}:${nonce}`;
  const { mac, ...made } = await hsm.mac({ purpose: 'encryption', label, generation });
  const secret = Buffer.from(mac.subarray(0, totpSecretBytes));
  mac.fill(0);
  return { ...made, mac: secret };
}
