import { maxGeneration, SigningPurpose } from '../../protocol/protocol.ts';

export const keyPurposes = [...SigningPurpose.options, 'mac', 'encryption'] as const;
export type KeyPurpose = (typeof keyPurposes)[number];

/** Returns the CKA_LABEL of a key; both halves of a key pair have this label. */
export function formatKeyLabel(purpose: KeyPurpose, generation: number): string {
  return `${purpose}-${generation}`;
}

/** Parses a CKA_LABEL. Returns undefined for a label that no signer gives to a key. */
export function findKeyLabel(
  label: string,
): { readonly purpose: KeyPurpose; readonly generation: number } | undefined {
  const match = /^(?<purpose>[a-z]+)-(?<digits>[1-9]\d*)$/.exec(label);
  const purpose = keyPurposes.find((known) => known === match?.groups?.purpose);
  const generation = Number(match?.groups?.digits);
  if (purpose === undefined || generation > maxGeneration) return undefined;
  return { purpose, generation };
}
