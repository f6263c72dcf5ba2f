import { verify, type KeyObject } from 'node:crypto';
import { parentPort } from 'node:worker_threads';

export interface SignedTexts {
  readonly publicKey: KeyObject;
  readonly texts: readonly string[];
  /**
   * One signature per text, in the order of `texts`: ECDSA over SHA3-256 of the UTF-8 text, DER,
   * base64.
   */
  readonly signatures: readonly string[];
}

parentPort?.on('message', (signed: SignedTexts) => {
  parentPort?.postMessage(areValid(signed), []);
});

function areValid({ publicKey, texts, signatures }: SignedTexts): boolean {
  if (texts.length !== signatures.length) return false;
  return texts.every((text, index) => {
    const signature = Buffer.from(signatures[index] ?? '', 'base64');
    return verify('sha3-256', Buffer.from(text), publicKey, signature);
  });
}
