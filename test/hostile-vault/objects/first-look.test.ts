import anyTest, { type TestFn } from 'ava';
import { dataOf } from '../../client/sync/devices.ts';
import { assertCaught } from '../liar.ts';
import {
  createScene,
  oneObject,
  openReader,
  versionOf,
  type Leaves,
  type Scene,
  type View,
} from './scene.ts';

const test = anyTest as TestFn<Scene>;

test.beforeEach(async (t) => {
  t.context = await createScene();
});

/** Each lie about the present state to a device that remembers nothing, and its error. */
const lies: Record<string, readonly [code: string, (scene: Scene) => unknown]> = {
  'an old leaf beside newer ones': [
    'rolled_back',
    (scene) => withData(scene, { a: versionOf(scene, 2).data['a'] }),
  ],
  'leaves of two versions, each with the statement of its device': [
    'rolled_back',
    (scene) => {
      const { b, gone, $devices } = versionOf(scene, 1).data;
      const { alice } = scene.names;
      const { $devices: present } = versionOf(scene, 4).data;
      return withData(scene, { b, gone, $devices: { ...present, [alice]: $devices[alice] } });
    },
  ],
  'a leaf left out': ['rolled_back', (scene) => withData(scene, { b: undefined })],
  'a field that was removed': [
    'rolled_back',
    (scene) => withData(scene, { gone: versionOf(scene, 1).data['gone'] }),
  ],
  'a made-up name with a leaf from elsewhere': [
    'rolled_back',
    (scene) => withData(scene, { made: versionOf(scene, 4).data['a'] }),
  ],
  'a made-up name in plaintext': ['rolled_back', (scene) => withData(scene, { made: 'up' })],
  'two leaves exchanged': [
    'rolled_back',
    (scene) => {
      const { a, b } = versionOf(scene, 4).data;
      return withData(scene, { a: b, b: a });
    },
  ],
  'the statement of a device left out, and what it wrote': [
    'rolled_back',
    (scene) => {
      const { $devices } = versionOf(scene, 4).data;
      const { [scene.names.alice]: _, ...others } = $devices;
      return withData(scene, { b: undefined, $devices: others });
    },
  ],
  'no statement at all': ['rolled_back', (scene) => withData(scene, { $devices: {} })],
  'statements that are none': ['invalid_leaf', (scene) => withData(scene, { $devices: { a: 1 } })],
  'a statement in the name of another device': [
    'invalid_leaf',
    (scene) => {
      const { $devices } = versionOf(scene, 4).data;
      const { alice, bob } = scene.names;
      return withData(scene, { $devices: { [alice]: $devices[bob], [bob]: $devices[bob] } });
    },
  ],
  'a statement with another count': [
    'invalid_leaf',
    (scene) => {
      const { $devices } = versionOf(scene, 4).data;
      const { bob } = scene.names;
      const leaves = $devices[bob] as Record<string, unknown>;
      const [leaf] = Object.values(leaves);
      return withData(scene, { $devices: { ...$devices, [bob]: { 9: leaf } } });
    },
  ],
  'a version below the one on which a device wrote': [
    'rolled_back',
    (scene) => ({ ...versionOf(scene, 4), version: 3 }),
  ],
};

function withData(scene: Scene, changes: Leaves): View {
  const view = versionOf(scene, 4);
  return { ...view, data: { ...view.data, ...changes } };
}

for (const [lie, [code, tell]] of Object.entries(lies)) {
  test(`${lie}, to a device that remembers nothing`, async (t) => {
    const reader = await openReader(t.context.user);
    reader.lie(oneObject, () => tell(t.context));
    await assertCaught(t, reader.sync.sync(), code);
    t.is(await reader.sync.get(t.context.id), undefined);
  });
}

test('the object of another one in its place', async (t) => {
  const { user, alice, id } = t.context;
  const other = await alice.create({ data: { a: 'other' } });
  await alice.sync();
  const reader = await openReader(user);
  reader.lie(new RegExp(`^GET /v1/sync/${other}$`), () => versionOf(t.context, 4));
  await assertCaught(t, reader.sync.sync(), 'invalid_leaf');
  t.is(await reader.sync.get(other), undefined);
  t.like(await dataOf(reader.sync, id), { a: 'fourth' }, 'the other object is read');
});
