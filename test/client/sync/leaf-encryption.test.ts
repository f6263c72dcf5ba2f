import type { webcrypto } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { hexToBytes, randomBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import * as fc from 'fast-check';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../../../client/bytes/base64.ts';
import { isSame } from '../../../client/sync/objects/json.ts';
import { createLeafCipher } from '../../../client/sync/objects/leaf-encryption.ts';
import { createObjectEncryption } from '../../../client/sync/objects/object-encryption.ts';
import { leavesOf } from '../../../app/sync/merge/json-pointer.ts';
import { readVectors } from '../../support/client/vectors.ts';

const Vectors = z.array(
  z.object({
    name: z.string(),
    masterKey: z.string().transform(hexToBytes),
    objectId: z.uuid(),
    pointer: z.string(),
    value: z.unknown(),
    sealed: z.string(),
  }),
);
const vectors = await readVectors('sync.json', Vectors);

const masterKey = randomBytes(32);
const objectId = crypto.randomUUID();
const cipher = createLeafCipher({ masterKey });
const publicFields = { note: ['/tags', '/open'] };
const encryption = createObjectEncryption(createLeafCipher({ masterKey }), publicFields);

test('encrypted leaves match the test vectors', async (t) => {
  for (const { name, masterKey, objectId, pointer, value, sealed } of vectors) {
    const cipher = createLeafCipher({ masterKey });
    t.deepEqual((await cipher.open(objectId, pointer, sealed)).value, value, name);
    t.is((await cipher.seal(objectId, pointer, value)).length, sealed.length, name);
  }
});

test('every JSON value opens as it was, but only in its place, object and user', async (t) => {
  const other = createLeafCipher({ masterKey: randomBytes(32) });
  const names = fc.array(fc.constantFrom('a', 'b', '', '~', '/', 'ü'), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), names, names, async (value, names, others) => {
      const [pointer, elsewhere] = [`/${names.join('')}`, `/${others.join('')}`];
      const sealed = await cipher.seal(objectId, pointer, value);
      t.true(isSame((await cipher.open(objectId, pointer, sealed)).value, value));
      const wrong = [
        cipher.open(crypto.randomUUID(), pointer, sealed),
        other.open(objectId, pointer, sealed),
        ...(pointer === elsewhere ? [] : [cipher.open(objectId, elsewhere, sealed)]),
      ];
      for (const opening of wrong) await t.throwsAsync(opening, { code: 'invalid_leaf' });
    }),
    { numRuns: 100 },
  );
});

test('after a rekey old leaves still open, and new ones need the new master key', async (t) => {
  const renewed = { masterKey: randomBytes(32), earlierKeys: [randomBytes(32), masterKey] };
  const after = createLeafCipher(renewed);
  const earlier = await after.open(objectId, '/a', await cipher.seal(objectId, '/a', 1));
  t.deepEqual(earlier, { value: 1, isPresent: false });
  const leaf = await after.seal(objectId, '/a', 2);
  const present = createLeafCipher({ masterKey: renewed.masterKey });
  t.deepEqual(await present.open(objectId, '/a', leaf), { value: 2, isPresent: true });
  await t.throwsAsync(cipher.open(objectId, '/a', leaf), { code: 'invalid_leaf' });
});

test('a leaf with any byte changed or of another form does not open', async (t) => {
  const bytes = decodeBase64(await cipher.seal(objectId, '/a', 'x'));
  const changed = [...bytes.keys()].map((index) =>
    encodeBase64(bytes.with(index, (bytes[index] ?? 0) ^ 1)),
  );
  for (const text of [...changed, '', 'AQ==', 'no base64', 1, null, [], true]) {
    await t.throwsAsync(cipher.open(objectId, '/a', text), { code: 'invalid_leaf' });
  }
});

test('equal values have different ciphertexts, and numbers look like short texts', async (t) => {
  const [one, other] = [await cipher.seal(objectId, '/a', 1), await cipher.seal(objectId, '/a', 1)];
  t.not(one, other);
  t.is((await cipher.seal(objectId, '/a', 'a text of 26 characters.')).length, one.length);
});

test('an object reveals only its names, empty objects and public fields', async (t) => {
  const value = fc.oneof(fc.string(), fc.constant(null), fc.constant(true), fc.array(fc.nat()));
  const key = fc.constantFrom('a', 'b', 'constructor', 'a/b', 'tags');
  const { tree } = fc.letrec<{ tree: Record<string, unknown> }>((tie) => ({
    tree: fc.dictionary(key, fc.oneof({ depthSize: 'small' }, value, tie('tree')), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  }));
  await fc.assert(
    fc.asyncProperty(tree, async (data) => {
      const sealed = await encryption.seal(objectId, { objectType: undefined, data });
      const named = { ...data, $type: null };
      t.deepEqual(leavesOf(sealed).toSorted(), leavesOf(named).toSorted());
      t.deepEqual((await encryption.open(objectId, sealed)).data, data);
    }),
    { numRuns: 100 },
  );
  const plain = { objectType: 'note', data: { tags: ['x'], open: { by: 'me' }, a: 'x', e: {} } };
  const sealed = await encryption.seal(objectId, plain);
  t.deepEqual([sealed['tags'], sealed['open'], sealed['e']], [['x'], { by: 'me' }, {}]);
  t.regex(String(sealed['a']), /^[\w+/]{82}==$/);
  t.like(await encryption.open(objectId, sealed), plain);
});

test('a leaf that does not change keeps its ciphertext', async (t) => {
  const data = { a: { x: 1, y: 'two' }, b: [null] };
  const known = await encryption.open(
    objectId,
    await encryption.seal(objectId, { objectType: 'note', data }),
  );
  const changed = { ...data, a: { x: 1, y: 'three' } };
  const sealed = await encryption.seal(objectId, { objectType: 'note', data: changed }, [known]);
  t.like(sealed, { $type: known.sealed['$type'], b: known.sealed['b'] });
  const [before, after] = [known.sealed, sealed].map(({ a }) => a as Record<string, unknown>);
  t.is(after?.['x'], before?.['x']);
  t.not(after?.['y'], before?.['y']);
});

test('the vault can neither make a field public nor change the object type', async (t) => {
  const note = await encryption.seal(objectId, { objectType: 'note', data: { tags: [], a: 'x' } });
  const untyped = await encryption.seal(objectId, { objectType: undefined, data: { tags: ['x'] } });
  const { $type: _, ...stripped } = note;
  const forged = [{ ...note, a: 'clear' }, { ...untyped, tags: ['clear'] }, stripped];
  for (const sealed of [...forged, { ...note, $type: 'note' }, { ...note, a: { b: note['a'] } }]) {
    await t.throwsAsync(encryption.open(objectId, sealed), { code: 'invalid_leaf' });
  }
});

test('the vault cannot pass off a typed object as one without a type', async (t) => {
  const publicFields = { '*': ['/open'], diary: [] };
  const diaries = createObjectEncryption(createLeafCipher({ masterKey }), publicFields);
  const plain = { objectType: 'diary', data: { open: 'secret' } };
  const { $type: _, ...stripped } = await diaries.seal(objectId, plain);
  await t.throwsAsync(diaries.open(objectId, stripped), { code: 'invalid_leaf' });
});

test('a public field cannot become null, which would remove it', async (t) => {
  const plain = { objectType: 'note', data: { open: null } };
  await t.throwsAsync(encryption.seal(objectId, plain), { instanceOf: TypeError });
});

test.serial(
  'a device that runs for long does not keep the key of every object it ever saw',
  async (t) => {
    setFlagsFromString('--expose-gc');
    const collect: unknown = runInNewContext('gc');
    if (typeof collect !== 'function') throw new TypeError('the garbage collector is not exposed');
    const { subtle } = globalThis.crypto;
    const derived: WeakRef<webcrypto.CryptoKey>[] = [];
    const importKey = subtle.importKey.bind(subtle);
    const spy = async (...of: Parameters<typeof importKey>) => {
      const key = await importKey(...of);
      if (of[2] === 'AES-GCM') derived.push(new WeakRef(key));
      return key;
    };
    Object.defineProperty(subtle, 'importKey', { value: spy, configurable: true });
    t.teardown(() => Reflect.deleteProperty(subtle, 'importKey'));
    const cipher = createLeafCipher({ masterKey });
    for (let n = 0; n < 3_000; n += 1) await cipher.seal(crypto.randomUUID(), '/a', n);
    await setImmediate();
    Reflect.apply(collect, undefined, []);
    const kept = derived.filter((key) => key.deref() !== undefined).length;
    t.true(derived.length >= 3_000);
    t.true(kept <= 1_100, `${kept} keys`);
    await cipher.seal(objectId, '/a', 'the cipher is still there');
  },
);
