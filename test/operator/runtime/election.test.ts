import test from 'ava';
import { createElection, leaseSeconds } from '../../../k8s/election/election.ts';
import type { LeaseStore } from '../../../k8s/election/lease-store.ts';

/** Creates a Lease in memory, and candidates whose clocks can stand still or be cut off. */
function createScene() {
  let version = 0;
  let holder: string | undefined;
  let nowMs = 0;
  const cutOff = new Set<string>();

  function storeOf(identity: string): LeaseStore {
    const reach = () => {
      if (cutOff.has(identity)) throw new Error('the API server cannot be reached');
    };
    return {
      async read() {
        reach();
        if (holder === undefined) return undefined;
        return { version: String(version), holder, durationSeconds: leaseSeconds };
      },
      async write(next, before) {
        reach();
        if (before !== (holder === undefined ? undefined : String(version))) return false;
        version += 1;
        holder = next;
        return true;
      },
    };
  }

  return {
    cutOff,
    advance: (seconds: number) => {
      nowMs += 1_000 * seconds;
    },
    candidate: (identity: string) =>
      createElection({ store: storeOf(identity), identity, monotonic: () => nowMs }),
  };
}

/** Lets candidates campaign every two seconds. Returns the seconds until `isOver` returns true. */
async function campaignUntil(
  scene: ReturnType<typeof createScene>,
  candidates: readonly ReturnType<typeof createElection>[],
  isOver: () => boolean,
): Promise<number> {
  for (let seconds = 0; seconds < 60; seconds += 1) {
    if (isOver()) return seconds;
    if (seconds % 2 === 0)
      await Promise.all(candidates.map((one) => one.campaign().catch(() => undefined)));
    scene.advance(1);
  }
  throw new Error('nobody took over');
}

test('of two candidates one leads, and goes on leading', async (t) => {
  const scene = createScene();
  const [a, b] = [scene.candidate('a'), scene.candidate('b')];
  for (let round = 0; round < 60; round += 1) {
    await a.campaign();
    await b.campaign();
    t.deepEqual([a.isLeader(), b.isLeader()], [true, false]);
    scene.advance(2);
  }
});

test('a leader that ends gives the Lease to the next at once', async (t) => {
  const scene = createScene();
  const [a, b] = [scene.candidate('a'), scene.candidate('b')];
  await a.campaign();
  await b.campaign();
  await b.resign();
  t.true(a.isLeader());
  await a.resign();
  t.false(a.isLeader());
  await b.campaign();
  t.true(b.isLeader());
});

for (const fault of ['killed or frozen', 'cut off'] as const) {
  test(`a leader that is ${fault} acts no more when the other leads, within 20 s`, async (t) => {
    const scene = createScene();
    const [a, b] = [scene.candidate('a'), scene.candidate('b')];
    await a.campaign();
    await b.campaign();
    const others = fault === 'cut off' ? [a, b] : [b];
    if (fault === 'cut off') scene.cutOff.add('a');
    const seconds = await campaignUntil(scene, others, () => {
      t.false(a.isLeader() && b.isLeader());
      return b.isLeader();
    });
    t.true(seconds <= 20, String(seconds));
    t.false(a.isLeader());
    // It is back, and finds that it is not the leader.
    scene.cutOff.clear();
    await a.campaign();
    t.deepEqual([a.isLeader(), b.isLeader()], [false, true]);
  });
}

test('of two that take the Lease at the same moment, one gets it', async (t) => {
  const scene = createScene();
  const candidates = ['a', 'b', 'c'].map(scene.candidate);
  await Promise.all(candidates.map((one) => one.campaign()));
  t.is(candidates.filter((one) => one.isLeader()).length, 1);
});
