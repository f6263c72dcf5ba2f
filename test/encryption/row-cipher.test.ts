import { hkdfSync } from 'node:crypto';
import test from 'ava';
import { createRowCipher, deriveRowKey } from '../../app/encryption/row-cipher.ts';
import { createTestCipher, testKey } from '../support/encryption/test-cipher.ts';

const cipher = createTestCipher();
const row = { table: 'credentials', key: ['ada', 'password'] };
const values = { salt: 'aa', verifier: 'bb' };

test('what was encrypted is decrypted, and every encryption differs', (t) => {
  const first = cipher.encrypt(row, values);
  const second = cipher.encrypt(row, values);
  t.is(first.generation, 1);
  t.not(first.values.salt, second.values.salt);
  t.false(JSON.stringify(first).includes(Buffer.from('bb').toString('base64')));
  t.deepEqual(cipher.decrypt(row, first), values);
  t.deepEqual(cipher.decrypt(row, second), values);
});

test('the key of a row is HKDF-SHA-256 of the generation’s key', (t) => {
  const info = JSON.stringify(['credentials', null, 'ada', 'password']);
  const expected = hkdfSync('sha256', testKey.key, '', info, 32);
  t.deepEqual(deriveRowKey(testKey.key, row).export(), Buffer.from(expected));
});

const moves = {
  'another row': { ...row, key: ['bob', 'password'] },
  'another login method': { ...row, key: ['ada', 'recovery'] },
  'another table': { ...row, table: 'registrations' },
  'a key of other members': { ...row, key: ['adapassword'] },
};

for (const [name, other] of Object.entries(moves)) {
  test(`a value cannot be moved to ${name}`, (t) => {
    t.throws(() => cipher.decrypt(other, cipher.encrypt(row, values)));
  });
}

test('a value cannot be moved to another column, changed or cut off', (t) => {
  const { generation, values: stored } = cipher.encrypt(row, values);
  const { salt, verifier } = stored;
  t.throws(() => cipher.decrypt(row, { generation, values: { salt: verifier, verifier: salt } }));
  const bytes = Buffer.from(salt, 'base64');
  for (const [at] of bytes.entries()) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    t.throws(() =>
      cipher.decrypt(row, { generation, values: { salt: changed.toString('base64') } }),
    );
    const cut = bytes.subarray(0, at).toString('base64');
    t.throws(() => cipher.decrypt(row, { generation, values: { salt: cut } }));
  }
});

test('another generation does not decrypt, and plain values are returned as they are', (t) => {
  const other = createRowCipher({
    current: () => ({ generation: 2, key: Buffer.alloc(32, 8) }),
    earlier: () => [],
    get: () => Buffer.alloc(32, 8),
  });
  t.throws(() => other.decrypt(row, cipher.encrypt(row, values)));
  t.is(other.decrypt(row, { generation: null, values }), values);
});
