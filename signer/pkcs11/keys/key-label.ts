import { maxGeneration, SigningPurpose } from '../../protocol/protocol.ts';

export const keyPurposes = [...SigningPurpose.options, 'mac'] as const;
export type KeyPurpose = (typeof keyPurposes)[number];

/** The CKA_LABEL of a key, and of both halves of a pair. */
export function formatKeyLabel(purpose: KeyPurpose, generation: number): string {
  return `${purpose}-${generation}`;
}

/** Undefined for the label of an object that is none of ours. */
export function findKeyLabel(
  label: string,
): { purpose: KeyPurpose; generation: number } | undefined {
  const match = /^(?<purpose>[a-z]+)-(?<digits>[1-9]\d*)$/.exec(label);
  const purpose = keyPurposes.find((known) => known === match?.groups?.purpose);
  const generation = Number(match?.groups?.digits);
  return purpose && generation <= maxGeneration ? { purpose, generation } : undefined;
}
