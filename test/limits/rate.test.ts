import test from 'ava';
import { Rate } from '../../app/limits/rate.ts';

test('a rate is a count and a duration', (t) => {
  const rates = {
    '5/1h': { count: 5, seconds: 3_600 },
    '30/1m': { count: 30, seconds: 60 },
    '10/15m': { count: 10, seconds: 900 },
    '2/1s': { count: 2, seconds: 1 },
    '1000000/24d': { count: 1_000_000, seconds: 2_073_600 },
  };
  for (const [text, rate] of Object.entries(rates)) t.deepEqual(Rate.parse(text), rate, text);
});

test('off disables a limit', (t) => {
  t.is(Rate.parse('off'), undefined);
});

test('any other text is refused, and the message does not repeat it', (t) => {
  const wrong = {
    counts: [
      '',
      '5',
      '5/',
      '/1h',
      '0/1h',
      '05/1h',
      '-5/1h',
      '1.5/1h',
      '12345678/1h',
      'Infinity/1h',
    ],
    units: ['5/h', '5/0h', '5/1w', '5/1H', '5/1.5h', '5/1', '5/1hh'],
    spaces: ['5/1h ', ' 5/1h', '5 / 1h', '5/1h\n'],
    long: ['5/25d', '5/2147484s', '5/9999999d', '5/99999999s'],
    words: ['OFF', 'on', 'none', 'undefined'],
  };
  for (const text of Object.values(wrong).flat()) {
    const { success, error } = Rate.safeParse(text);
    t.false(success, text);
    t.is(error?.issues[0]?.message, 'must be off, or a rate such as 5/1h of at most 24 days');
  }
});
