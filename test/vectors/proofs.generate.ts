/**
 * Generates proofs/cases.json and proofs/keys.json with fixed keys of their own, so that the bytes
 * are always the same. Run: node test/vectors/proofs.generate.ts
 */
import { writeFile } from 'node:fs/promises';
import { entryCases } from './proofs/entry-cases.ts';
import { fileCases } from './proofs/file-cases.ts';
import { keyCases } from './proofs/key-cases.ts';
import { memberCases } from './proofs/member-cases.ts';
import { signatureCases } from './proofs/signature-cases.ts';
import { keys, type CorpusKey } from './proofs/signing.ts';
import { sizeCases } from './proofs/size-cases.ts';

/** Returns the contents of the two files by name. */
export function generateCorpus(): Record<'cases.json' | 'keys.json', string> {
  const cases = [fileCases, memberCases, entryCases, signatureCases, keyCases, sizeCases].flat();
  const names = cases.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two cases have the name ${twice}`);
  return {
    'cases.json': format(cases),
    'keys.json': format({
      /** Audit keys, which a verifier must trust. */
      audit: [keys.first, keys.second].map(withoutSecret),
      /** Token keys, which are in the vault's registry too but must not sign entries. */
      token: [keys.token].map(withoutSecret),
      /** Keys that are in no registry. */
      unknown: [keys.unknown].map(withoutSecret),
    }),
  };
}

function withoutSecret({ keyId, publicKey }: CorpusKey) {
  return { keyId, publicKey };
}

function format(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(generateCorpus())) {
    await writeFile(new URL(`proofs/${name}`, import.meta.url), text);
  }
}
