/** Replies with the texts per second that one loop signs, alone or with hash and verification. */
import { createPublicKey, hash, verify } from 'node:crypto';
import { answerParent } from '../../support/processes/child.ts';
import { openEcdsa } from './softhsm-ecdsa.ts';

export interface SigningQuestion {
  /** `all` measures hash, signature and verification; `sign` the signature alone. */
  readonly of: 'all' | 'sign';
  readonly texts: string[];
  /** The public key as SPKI DER in base64. */
  readonly publicKey: string;
}

const sign = openEcdsa(process.env);

answerParent(async ({ of, texts, publicKey }: SigningQuestion): Promise<number> => {
  const der = Buffer.from(publicKey, 'base64');
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  const work = of === 'sign' ? signDigests(texts) : signTexts(texts, key);
  const startedAt = performance.now();
  work();
  return (texts.length * 1_000) / (performance.now() - startedAt);
});

function signDigests(texts: readonly string[]): () => void {
  const digests = texts.map((text) => hash('sha3-256', text, 'buffer'));
  return () => {
    for (const digest of digests) sign(digest);
  };
}

function signTexts(texts: readonly string[], key: ReturnType<typeof createPublicKey>): () => void {
  return () => {
    for (const text of texts) {
      const signature = sign(hash('sha3-256', text, 'buffer'));
      const isValid = verify(
        'sha3-256',
        Buffer.from(text),
        { key, dsaEncoding: 'ieee-p1363' },
        signature,
      );
      if (!isValid) throw new Error('the token signs with another key');
    }
  };
}
