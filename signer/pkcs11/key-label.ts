export type KeyPurpose = 'audit' | 'token' | 'mac';

export const keyPurposes: readonly KeyPurpose[] = ['audit', 'token', 'mac'];

/** The CKA_LABEL of a key, and of both halves of a pair. */
export function formatKeyLabel(purpose: KeyPurpose, generation: number): string {
  return `${purpose}-${generation}`;
}

/** Undefined for the label of an object that is none of ours. */
export function findKeyLabel(
  label: string,
): { purpose: KeyPurpose; generation: number } | undefined {
  const match = /^(?<purpose>[a-z]+)-(?<generation>[1-9]\d{0,5})$/.exec(label);
  const purpose = keyPurposes.find((known) => known === match?.groups?.purpose);
  return purpose && { purpose, generation: Number(match?.groups?.generation) };
}
