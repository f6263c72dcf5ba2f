import crypto, { randomBytes } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import test, { type ExecutionContext } from 'ava';
import { createKeyForms } from '../../app/envelopes/key-form.ts';

const toEnvelope = createKeyForms({ rawForm: 'allow' });
const keyBytes = 32;

/** Records every buffer of the size of a key, and the keys given to a cipher. */
function watchKeys(t: ExecutionContext, { fails = false } = {}) {
  const { alloc } = Buffer;
  const { createCipheriv } = crypto;
  const buffers: Buffer[] = [];
  const wrappedWith: string[] = [];
  Buffer.alloc = (size: number, ...rest: []) => {
    const buffer = alloc(size, ...rest);
    if (size === keyBytes) buffers.push(buffer);
    return buffer;
  };
  crypto.createCipheriv = ((name: string, key: Buffer, iv: Buffer) => {
    wrappedWith.push(key.toString('base64'));
    if (fails) throw new Error('no cipher');
    return createCipheriv(name, key, iv);
  }) as typeof createCipheriv;
  syncBuiltinESMExports();
  t.teardown(() => {
    Object.assign(Buffer, { alloc });
    Object.assign(crypto, { createCipheriv });
    syncBuiltinESMExports();
  });
  return { buffers, wrappedWith };
}

const zero = Buffer.alloc(keyBytes);
const randomKey = (bytes = keyBytes) => randomBytes(bytes).toString('base64');

test.serial('raw keys are zeroed once they are wrapped', (t) => {
  const { buffers, wrappedWith } = watchKeys(t);
  const form = { wrappingKey: randomKey(), masterKey: randomKey() };
  t.is(Buffer.from(toEnvelope(form), 'base64').length, 40);
  t.deepEqual(wrappedWith, [form.wrappingKey]);
  t.deepEqual(buffers, [zero, zero]);
});

test.serial('raw keys are zeroed when they cannot be wrapped', (t) => {
  const { buffers, wrappedWith } = watchKeys(t, { fails: true });
  const form = { wrappingKey: randomKey(), masterKey: randomKey() };
  t.throws(() => toEnvelope(form), { message: 'no cipher' });
  t.deepEqual(wrappedWith, [form.wrappingKey]);
  t.deepEqual(buffers, [zero, zero]);
});

test.serial('a valid key is zeroed when the other is refused', (t) => {
  const { buffers, wrappedWith } = watchKeys(t);
  for (const form of [
    { wrappingKey: randomKey(), masterKey: randomKey(31) },
    { wrappingKey: randomKey(31), masterKey: randomKey() },
  ]) {
    t.throws(() => toEnvelope(form), { code: 'invalid_key_length' });
  }
  t.deepEqual(wrappedWith, []);
  t.deepEqual(buffers, [zero, zero, zero, zero]);
});
