import test from 'ava';
import * as fc from 'fast-check';
import { canonicalText } from '../../../app/json/canonical-text.ts';
import { applyPatch } from '../../../app/sync/merge/merge-patch.ts';
import { applyUndo, undoOf, type Undo } from '../../../app/sync/merge/undo.ts';
import { smallTree } from './json-values.ts';

/** Returns a copy through JSON, as undos and objects are stored. */
const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

function goBack(present: unknown, undo: Undo | undefined): unknown {
  return undo === undefined ? stored(present) : applyUndo(stored(present), stored(undo));
}

test('the undo of a patch restores the former object, empty objects and nulls included', (t) => {
  fc.assert(
    fc.property(smallTree, smallTree, (former, patch) => {
      const present = applyPatch(former, patch);
      t.is(canonicalText(goBack(present, undoOf(former, present))), canonicalText(former));
    }),
  );
});

test('undos of several versions lead back to each of them', (t) => {
  fc.assert(
    fc.property(smallTree, fc.array(smallTree, { maxLength: 6 }), (first, chain) => {
      const versions = [first];
      for (const patch of chain) versions.push(applyPatch(versions.at(-1), patch));
      const undos = versions.slice(1).map((version, place) => undoOf(versions[place], version));
      let value: unknown = stored(versions.at(-1));
      for (const [place, undo] of [...undos.entries()].toReversed()) {
        value = goBack(value, undo);
        t.is(canonicalText(value), canonicalText(versions[place]));
      }
    }),
  );
});

test('an undo holds only what changed', (t) => {
  const former = { kept: 'x'.repeat(1_000), a: { b: [1], c: null }, gone: {} };
  const present = { kept: former.kept, a: { b: [2], c: null }, added: 1 };
  t.deepEqual(undoOf(former, present), { a: { b: [[1]] }, gone: [{}], added: [] });
  t.is(undoOf(former, { ...former, a: { c: null, b: [1] } }), undefined);
  t.deepEqual(undoOf(former, null), [former]);
  t.deepEqual(applyUndo(null, [former]), former);
});
