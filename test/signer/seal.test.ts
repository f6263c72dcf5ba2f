import { exec } from 'node:child_process';
import { createPublicKey, hash, verify } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { maxBatchEntries, maxEntryBytes, type SealResult } from '../../signer/protocol/protocol.ts';
import { canonicalText, sampleText } from './sample-entry.ts';
import {
  createTokenFixture,
  startSigner,
  type RunningSigner,
  type TokenFixture,
} from '../support/audit/token-fixture.ts';

let fixture: TokenFixture;
let signer: RunningSigner;

test.before(async () => {
  fixture = await createTokenFixture();
  await fixture.tool('init');
  signer = await startSigner(fixture);
});

test.after.always(async () => {
  await signer?.stop();
  await fixture?.remove();
});

function sealOf(result: SealResult | undefined) {
  if (result === undefined || 'error' in result)
    throw new Error(`not sealed: ${JSON.stringify(result)}`);
  return result;
}

test('a full batch is sealed, in order, with signatures that node:crypto verifies', async (t) => {
  const entries = Array.from({ length: maxBatchEntries }, () => sampleText());
  const keyId = await signer.keyId('audit');
  const key = (await signer.client.listKeys()).find((key) => key.keyId === keyId);
  const spki = Buffer.from(key?.publicKey ?? '', 'base64');
  const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const seals = (await signer.seal(entries)).map(sealOf);
  t.deepEqual(
    seals.map((seal) => seal.id),
    entries.map((entry) => entry.id),
  );
  for (const [index, { text }] of entries.entries()) {
    const seal = sealOf(seals[index]);
    t.is(seal.hash, hash('sha3-256', text));
    t.is(seal.keyId, hash('sha256', spki).slice(0, 32));
    t.true(verify('sha3-256', Buffer.from(text), publicKey, Buffer.from(seal.signature, 'base64')));
  }
});

test('the openssl command alone verifies a seal', async (t) => {
  const entry = sampleText();
  const seal = sealOf((await signer.seal([entry]))[0]);
  const key = (await signer.client.listKeys()).find(({ keyId }) => keyId === seal.keyId);
  const path = (name: string): string => join(fixture.directory, name);
  await writeFile(path('entry.json'), entry.text);
  await writeFile(path('sig.der'), Buffer.from(seal.signature, 'base64'));
  const base64 = key?.publicKey.replaceAll(/.{64}/g, '$&\n');
  const pem = `-----BEGIN PUBLIC KEY-----\n${base64}\n-----END PUBLIC KEY-----\n`;
  await writeFile(path('key.pem'), pem);
  const command = `openssl dgst -sha3-256 -verify key.pem -signature sig.der entry.json`;
  const { stdout } = await promisify(exec)(command, { cwd: fixture.directory });
  t.is(stdout.trim(), 'Verified OK');
});

test('an invalid entry gets its fault in its own place, and the others are sealed', async (t) => {
  const [first, last, other] = [sampleText(), sampleText(), sampleText()];
  const results = await signer.seal([
    first,
    { id: 'a', text: 'not JSON' },
    { id: 'b', text: canonicalText({ transfer: 'all' }) },
    { id: 'c', text: other.text },
    { id: 'd', text: 'x'.repeat(maxEntryBytes + 1) },
    { id: other.id, text: ` ${other.text}` },
    last,
  ]);
  t.deepEqual(results.slice(1, -1), [
    { id: 'a', error: 'not_canonical' },
    { id: 'b', error: 'not_an_entry' },
    { id: 'c', error: 'id_mismatch' },
    { id: 'd', error: 'too_large' },
    { id: other.id, error: 'not_canonical' },
  ]);
  t.is(sealOf(results[0]).hash, hash('sha3-256', first.text));
  t.is(sealOf(results.at(-1)).hash, hash('sha3-256', last.text));
});

test('concurrent batches do not mix', async (t) => {
  const batches = Array.from({ length: 6 }, () => Array.from({ length: 40 }, () => sampleText()));
  const responses = await Promise.all(batches.map((batch) => signer.seal(batch)));
  t.deepEqual(
    responses.map((results) => results.map((result) => sealOf(result).hash)),
    batches.map((batch) => batch.map(({ text }) => hash('sha3-256', text))),
  );
});
