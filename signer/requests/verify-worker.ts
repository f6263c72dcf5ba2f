import { verify } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { SignedTexts } from './verifier.ts';

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
