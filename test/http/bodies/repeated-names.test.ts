import test from 'ava';
import * as fc from 'fast-check';
import { hasRepeatedNames } from '../../../app/http/bodies/repeated-names.ts';

const isRepeated = (text: string) => hasRepeatedNames(text, JSON.parse(text));

test('a repeated name in an object is found in any spelling', (t) => {
  for (const text of [
    '{"a":1,"a":1}',
    '[{"b":{"a":1 ,\n"a"\t\r\n :{}}}]',
    String.raw`{"a":1,"\u0061":2}`,
    String.raw`{"\"":1,"\"":2}`,
    '{"":1,"":2}',
    '{"__proto__":1,"__proto__":2}',
    `{"a":"${String.raw`\"`.repeat(400_000)}","a":1}`,
  ]) {
    t.true(isRepeated(text), text.slice(0, 100));
  }
});

test('JSON without repeated names is never refused', (t) => {
  for (const text of ['1', '"a"', '"a\\":"', '[{"a":1},{"a":1}]', '{"a":{"a":":"},"A":"\\":"}']) {
    t.false(isRepeated(text), text);
  }
  fc.assert(
    fc.property(fc.json({ stringUnit: 'binary', maxDepth: 5 }), (text) => {
      t.false(isRepeated(text), text);
    }),
  );
});
