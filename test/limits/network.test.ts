import test from 'ava';
import * as fc from 'fast-check';
import { networkOf } from '../../app/limits/network.ts';

const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
  minLength: 8,
  maxLength: 8,
});
const isMapped = (all: readonly number[]) =>
  all.slice(0, 5).every((group) => group === 0) && all[5] === 0xffff;
const ipv6 = groups.filter((all) => !isMapped(all));

/** The ways to spell an address: case, leading zeros, `::`, a dotted end, a zone. */
const spelling = fc.record({
  padded: fc.boolean(),
  upper: fc.boolean(),
  dotted: fc.boolean(),
  zone: fc.boolean(),
  gapStart: fc.integer({ min: 0, max: 7 }),
});
type Spelling = typeof spelling extends fc.Arbitrary<infer T> ? T : never;

function spell(
  all: readonly number[],
  { padded, upper, dotted, zone, gapStart }: Spelling,
): string {
  const texts = all.map((group) => group.toString(16).padStart(padded ? 4 : 1, '0'));
  if (dotted) texts.splice(6, 2, dottedEnd(all));
  const isZero = (index: number) => all[index] === 0 && index < (dotted ? 6 : 8);
  let gapEnd = gapStart;
  while (isZero(gapEnd)) gapEnd += 1;
  const written =
    gapEnd > gapStart
      ? `${texts.slice(0, gapStart).join(':')}::${texts.slice(gapEnd).join(':')}`
      : texts.join(':');
  return (upper ? written.toUpperCase() : written) + (zone ? '%eth0' : '');
}

function dottedEnd(all: readonly number[]): string {
  const bytes = all.slice(6).flatMap((group) => [group >> 8, group & 0xff]);
  return bytes.join('.');
}

test('every spelling of every address of one /64 is one network', (t) => {
  fc.assert(
    fc.property(ipv6, ipv6, spelling, spelling, (one, other, oneSpelling, otherSpelling) => {
      const neighbour = [...one.slice(0, 4), ...other.slice(4)];
      fc.pre(!isMapped(neighbour));
      t.is(networkOf(spell(one, oneSpelling)), networkOf(spell(neighbour, otherSpelling)));
    }),
    { numRuns: 1_000 },
  );
});

test('addresses of two /64s are two networks', (t) => {
  fc.assert(
    fc.property(ipv6, spelling, fc.integer({ min: 0, max: 63 }), (one, spelled, bit) => {
      const other = one.map((group, index) =>
        index === bit >> 4 ? group ^ (1 << (bit & 15)) : group,
      );
      t.not(networkOf(spell(one, spelled)), networkOf(spell(other, spelled)));
    }),
    { numRuns: 1_000 },
  );
});

test('an IPv4 address is a network, also when mapped into IPv6', (t) => {
  fc.assert(
    fc.property(groups, spelling, (all, spelled) => {
      const mapped = [0, 0, 0, 0, 0, 0xffff, ...all.slice(6)];
      t.is(networkOf(dottedEnd(all)), dottedEnd(all));
      t.is(networkOf(spell(mapped, spelled)), dottedEnd(all));
    }),
    { numRuns: 1_000 },
  );
});

test('a network has one spelling, and is its own network', (t) => {
  t.is(networkOf('2001:DB8:0:07::1'), '2001:db8:0:7::/64');
  t.is(networkOf('::1'), '0:0:0:0::/64');
  t.is(networkOf(networkOf('fe80::1%eth0')), 'fe80:0:0:0::/64');
});

test('a text that is no address is returned unchanged', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\da-f:.%[\]/]{0,24}$/)), (text) => {
      fc.pre(!/^[\da-f:.]*:[\da-f:.]*(%|$)/i.test(text));
      t.is(networkOf(text), text);
    }),
    { numRuns: 1_000 },
  );
  for (const text of ['', ':', ':::', '1::2::3', '2001:db8::/64', '[::1]', '1.2.3', '01.2.3.4']) {
    t.is(networkOf(text), text);
  }
});
