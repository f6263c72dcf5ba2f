import test from 'ava';
import * as fc from 'fast-check';
import { isObject, isSame, memberOf, type JsonObject } from '../../../client/sync/objects/json.ts';
import {
  applyPatch,
  isApartFrom,
  partOf,
  patchBetween,
} from '../../../client/sync/objects/merge-patch.ts';
import { mergeThreeWay, type Clash } from '../../../client/sync/objects/three-way.ts';
import { applyPatch as applyAtVault } from '../../../app/sync/merge/merge-patch.ts';

const runs = { numRuns: Number(process.env['ROUNDS'] ?? 500) };
const key = fc.constantFrom('a', 'b', 'c', 'constructor', 'a/b');
const leaf = fc.constantFrom<unknown[]>(1, 2, 'x', [], [1]);

function treeOf(leaf: fc.Arbitrary<unknown>): fc.Arbitrary<JsonObject> {
  const { tree } = fc.letrec<{ tree: JsonObject }>((tie) => ({
    tree: fc.dictionary(key, fc.oneof({ depthSize: 'small', maxDepth: 2 }, leaf, tie('tree')), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  }));
  return tree;
}

const tree = treeOf(leaf);
const patch = treeOf(fc.oneof(leaf, fc.constant(null)));

const unasked = (clash: Clash): never => {
  throw new Error(`asked about ${clash.pointer}`);
};

test('the patch between two objects turns one into the other, as at the vault', (t) => {
  fc.assert(
    fc.property(tree, tree, (before, after) => {
      const between = patchBetween(before, after);
      t.deepEqual(applyPatch(before, between), after);
      t.deepEqual(applyAtVault(before, between), after);
      t.is(isSame(before, after), Object.keys(between).length === 0);
    }),
    runs,
  );
});

test('a patch has the same effect in the client and at the vault', (t) => {
  fc.assert(
    fc.property(tree, patch, (data, patch) => {
      t.deepEqual(applyPatch(data, patch), applyAtVault(data, patch));
    }),
    runs,
  );
});

test('changes of different fields merge without a question, from either side alike', async (t) => {
  const share = fc.record({ mine: fc.boolean(), to: fc.option(leaf) });
  const names = ['a', 'b', 'c', 'd', 'e'];
  const shares = fc.array(share, { minLength: names.length, maxLength: names.length });
  const base = { a: 0, b: { x: 0 }, c: { y: 0, z: 0 }, d: [0] };
  await fc.assert(
    fc.asyncProperty(shares, async (shares) => {
      const edited = (isMine: boolean) =>
        applyPatch(
          base,
          Object.fromEntries(
            names.flatMap((name, index) => {
              const share = shares[index];
              return share?.mine === isMine ? [[name, share.to]] : [];
            }),
          ),
        );
      const [mine, theirs] = [edited(true), edited(false)];
      const merged = await mergeThreeWay(base, mine, theirs, unasked);
      t.deepEqual(await mergeThreeWay(base, theirs, mine, unasked), merged);
      for (const [index, name] of names.entries()) {
        const side = shares[index]?.mine === true ? mine : theirs;
        t.true(isSame(memberOf(merged, name), memberOf(side, name)));
      }
    }),
    runs,
  );
});

test('an unchanged side takes the other, and equal changes need no question', async (t) => {
  await fc.assert(
    fc.asyncProperty(tree, tree, async (base, other) => {
      t.deepEqual(await mergeThreeWay(base, base, other, unasked), other);
      t.deepEqual(await mergeThreeWay(base, other, base, unasked), other);
      t.deepEqual(await mergeThreeWay(base, other, other, unasked), other);
    }),
    runs,
  );
});

test('each leaf of a merge is of a side that changed it; clashes are symmetric', async (t) => {
  let clashes = 0;
  await fc.assert(
    fc.asyncProperty(tree, tree, tree, async (base, mine, theirs) => {
      const asked: string[] = [];
      const merged = await mergeThreeWay(base, mine, theirs, async (clash) => {
        asked.push(clash.pointer);
        return clash.mine;
      });
      const mirrored: string[] = [];
      const other = await mergeThreeWay(base, theirs, mine, async (clash) => {
        mirrored.push(clash.pointer);
        return clash.theirs;
      });
      clashes += asked.length;
      t.deepEqual(asked.toSorted(), mirrored.toSorted());
      t.deepEqual(other, merged, 'the same choice gives the same result');
      t.true(isKept(base, mine, merged), 'choosing mine keeps all of mine');
    }),
    runs,
  );
  t.true(clashes > 0);
});

/** Returns whether every change of one side is in the merged object. */
function isKept(base: unknown, side: JsonObject, merged: unknown): boolean {
  return Object.entries(side).every(([name, value]) => {
    const [was, is] = [memberOf(base, name), memberOf(merged, name)];
    if (isSame(was, value) || isSame(is, value)) return true;
    return isObject(value) && isObject(is) && isKept(was, value, is);
  });
}

test('a patch is independent of other changes only where it has the same effect', (t) => {
  fc.assert(
    fc.property(tree, tree, tree, (before, after, now) => {
      const patch = patchBetween(before, after);
      if (!isApartFrom(patch, before, now)) return;
      t.deepEqual(patchBetween(now, applyPatch(now, patch)), patch);
    }),
    runs,
  );
  t.true(isApartFrom({ a: { x: 2 } }, { a: { x: 1 } }, { a: { x: 1, y: 1 } }));
  t.false(isApartFrom({ a: { x: 2 } }, { a: { x: 1 } }, { a: { x: 3 } }));
  t.false(isApartFrom({ a: null }, { a: { x: 1 } }, { a: { x: 1, y: 1 } }));
});

test('the part of a patch for some pointers has those fields and no others', (t) => {
  const patch = { a: { x: 1, y: null }, b: 2, 'a/b': 3 };
  t.deepEqual(partOf(patch, ['/a/x']), { a: { x: 1 } });
  t.deepEqual(partOf(patch, ['/a']), { a: { x: 1, y: null } });
  t.deepEqual(partOf(patch, ['/b/below', '/a~1b']), { b: 2, 'a/b': 3 });
  t.deepEqual(partOf(patch, ['/c']), {});
});
