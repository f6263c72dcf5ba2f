import { verify } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { SignedText } from './verifier.ts';

parentPort?.on('message', (signed: readonly SignedText[]) => {
  parentPort?.postMessage(signed.map(isValid), []);
});

function isValid({ text, signature, publicKey }: SignedText): boolean {
  return verify('sha3-256', Buffer.from(text), publicKey, Buffer.from(signature, 'base64'));
}
