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
import type { CorpusKeyFacts } from './proofs/corpus.ts';
import {
  activatedAt,
  compromisedSince,
  keys,
  retiredAt,
  type CorpusKey,
} from './proofs/signing.ts';
import { sizeCases } from './proofs/size-cases.ts';
import { validityCases } from './proofs/validity-cases.ts';

/** Returns the contents of the two files by name. */
export function generateCorpus(): Record<'cases.json' | 'keys.json', string> {
  const cases = [
    fileCases,
    memberCases,
    entryCases,
    signatureCases,
    keyCases,
    sizeCases,
    validityCases,
  ].flat();
  const names = cases.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two cases have the name ${twice}`);
  return {
    'cases.json': format(cases),
    'keys.json': format({
      /** Audit keys, which a verifier must trust, with what the vault's list says of them. */
      audit: [
        listed(keys.first),
        listed(keys.second),
        listed(keys.imported, { imported: true }),
        listed(keys.compromised, { state: 'COMPROMISED', compromisedSince }),
        listed(keys.spare, { state: 'CREATED', activatedAt: null, retiredAt: null }),
      ],
      /** Token keys, which are in the vault's registry too but must not sign entries. */
      token: [listed(keys.token)],
      /** Keys that are in no registry. */
      unknown: [keys.unknown].map(withoutSecret),
    }),
  };
}

/** Returns a key as the vault lists it: one that was retired, unless `facts` say otherwise. */
function listed(key: CorpusKey, facts: Partial<CorpusKeyFacts> = {}) {
  const common = { state: 'RETIRED', imported: false, activatedAt, retiredAt };
  return { ...withoutSecret(key), ...common, compromisedSince: null, ...facts };
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
