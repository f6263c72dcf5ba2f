import test from 'ava';
import { createSimulation, Killed, settle, type Simulation } from '../support/simulated-cluster.ts';
import type { Fault } from '../support/simulated-vault.ts';

const events = 10_000;
const seed = Number(process.env['OPERATOR_SEED'] ?? 20_261_126);
const faults: readonly Fault[] = ['lost', 'unheard', 'signer_unavailable', 'bad_response'];

/** Returns a generator of numbers from 0 to below 1 (mulberry32), the same for each seed. */
function randomOf(state: number): () => number {
  let a = state;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let mixed = Math.imul(a ^ (a >>> 15), 1 | a);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Walk {
  readonly simulation: Simulation;
  readonly random: () => number;
  /** The processes that believe to lead. */
  readonly operators: ReturnType<Simulation['startOperator']>[];
}

/** Makes one pass of one of the operators that believe to lead, which may be killed in it. */
async function pass({ simulation, random, operators }: Walk): Promise<void> {
  const index = Math.floor(random() * operators.length);
  const isDoomed = random() < 0.1;
  simulation.onChange(() => {
    if (!isDoomed) return;
    throw new Killed();
  });
  try {
    await operators[index]?.();
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    operators[index] = simulation.startOperator();
  }
  simulation.onChange(() => undefined);
}

const happenings: readonly (readonly [
  weight: number,
  happen: (walk: Walk) => Promise<void> | void,
])[] = [
  [60, pass],
  [10, ({ simulation, random }) => simulation.advance(Math.ceil(random() * 400))],
  [8, ({ simulation }) => simulation.seal()],
  [
    8,
    ({ simulation, random }) => {
      const pod = simulation.pods[Math.floor(random() * simulation.pods.length)];
      if (pod !== undefined) simulation.replicate(pod);
    },
  ],
  [
    4,
    ({ simulation, random }) => {
      const pod = simulation.pods[Math.floor(random() * simulation.pods.length)];
      if (pod !== undefined && !simulation.down.delete(pod.name)) simulation.down.add(pod.name);
    },
  ],
  [
    4,
    ({ simulation, random }) => {
      const share = random() < 0.5 ? 0 : random();
      simulation.failWith(() =>
        random() < share ? faults[Math.floor(random() * faults.length)] : undefined,
      );
    },
  ],
  [
    3,
    (walk) => {
      walk.simulation.annotate(`request ${walk.random()}`);
    },
  ],
  [1, ({ simulation, random }) => simulation.setSpec({ keepSpare: random() < 0.5 })],
  [
    1,
    ({ simulation, random }) =>
      simulation.setSpec({ rotateEvery: random() < 0.5 ? undefined : '1h' }),
  ],
  [
    1,
    (walk) => {
      // A second process, as if the election had failed.
      walk.operators.length = 1;
      walk.operators.push(walk.simulation.startOperator());
    },
  ],
];

const total = happenings.reduce((sum, [weight]) => sum + weight, 0);

test(`after ${events} events and lost answers it converges (OPERATOR_SEED=${seed})`, async (t) => {
  const random = randomOf(seed);
  const simulation = createSimulation({ keepSpare: true });
  const walk = { simulation, random, operators: [simulation.startOperator()] };
  for (let event = 0; event < events; event += 1) {
    let left = random() * total;
    const [, happen] = happenings.find(([weight]) => (left -= weight) < 0) ?? [0, pass];
    await happen(walk);
    t.is(simulation.active().length, 1);
    t.true(simulation.spares().length <= 1, `${simulation.spares().length} spares`);
  }
  t.deepEqual(simulation.violations, []);

  const rotated = simulation.rotations;
  t.true(rotated > 20, String(rotated));
  simulation.down.clear();
  simulation.failWith(() => undefined);
  simulation.setSpec({ keepSpare: true, rotateEvery: undefined });
  simulation.annotate('the last');
  await settle(simulation);
  t.like(simulation.status(), {
    rotation: undefined,
    creating: undefined,
    answeredRequest: 'the last',
    keyId: simulation.active()[0]?.keyId,
    spareKeyId: simulation.spares()[0]?.keyId,
  });
  t.is(simulation.status()?.conditions[0]?.reason, 'ActiveKeyHeld');
  t.is(simulation.spares().length, 1);
  t.deepEqual(simulation.violations, []);
});
