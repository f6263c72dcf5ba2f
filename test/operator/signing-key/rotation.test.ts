import test from 'ava';
import { createSimulation, Killed, settle } from '../support/simulated-cluster.ts';

for (const keepSpare of [false, true]) {
  const spares = keepSpare ? 1 : 0;

  test(`a request rotates once a text (keepSpare: ${keepSpare})`, async (t) => {
    const simulation = createSimulation({ keepSpare });
    await settle(simulation);
    t.is(simulation.keys.length, 1 + spares);
    for (const [index, text] of ['a', 'b'].entries()) {
      simulation.annotate(text);
      await settle(simulation);
      t.is(simulation.rotations, index + 1);
      t.is(simulation.keys.length, 2 + index + spares);
      t.is(simulation.active()[0]?.generation, 2 + index);
    }
    t.deepEqual(simulation.violations, []);
    t.is(simulation.status()?.answeredRequest, 'b');
    t.is(simulation.events.filter(({ reason }) => reason === 'Rotated').length, 2);
  });

  test(`killed after each single change, it ends the same (keepSpare: ${keepSpare})`, async (t) => {
    for (let point = 1; ; point += 1) {
      const simulation = createSimulation({ keepSpare });
      await settle(simulation);
      const { length } = simulation.keys;
      simulation.annotate('now');
      let changes = 0;
      let killedAt: string | undefined;
      simulation.onChange((changed) => {
        changes += 1;
        if (changes !== point) return;
        killedAt = changed;
        throw new Killed(changed);
      });
      // The process ends at the change, and another one goes on, which remembers nothing.
      await t.notThrowsAsync(
        settle(simulation).catch((error: unknown) => {
          if (!(error instanceof Killed)) throw error;
        }),
      );
      await settle(simulation);
      t.is(simulation.rotations, 1, `${point}`);
      t.is(simulation.keys.length, length + 1, `${point}`);
      t.is(simulation.spares().length, spares, `${point}`);
      t.deepEqual(simulation.violations, []);
      t.is(simulation.status()?.rotation, undefined);
      if (killedAt === undefined) {
        t.true(point > 4, String(point));
        break;
      }
    }
  });
}

test('a rotation waits for publication, for the record and for every token', async (t) => {
  const simulation = createSimulation();
  const operator = simulation.startOperator();
  const reason = async () => {
    await operator();
    await operator();
    return simulation.status()?.conditions.find(({ type }) => type === 'Rotating')?.reason;
  };
  simulation.annotate('a');
  t.is(await reason(), 'CreatingKey');
  t.is(await reason(), 'RecordUnsigned');
  simulation.seal();
  t.is(await reason(), 'WaitingForReplicas');
  for (const pod of simulation.pods) simulation.replicate(pod);
  t.is(await reason(), 'Publishing');
  const asked = simulation.requests.filter((request) => request === 'activate').length;
  t.is(await reason(), 'Publishing');
  t.is(simulation.requests.filter((request) => request === 'activate').length, asked);
  simulation.advance(310);
  await reason();
  t.is(await reason(), 'Idle');
  t.is(simulation.rotations, 1);
});

for (const fault of ['unheard', 'lost', 'signer_unavailable', 'bad_response'] as const) {
  test(`an app that answers nothing of use is asked ever more rarely: ${fault}`, async (t) => {
    const simulation = createSimulation();
    simulation.annotate('a');
    simulation.failWith((request) => (request === 'create' ? fault : undefined));
    const operator = simulation.startOperator();
    // An hour of passes, one every second.
    for (let second = 0; second < 3_600; second += 1) {
      await operator();
      simulation.advance(1);
    }
    const asked = simulation.requests.filter((request) => request === 'create').length;
    t.true(asked <= 2 * 20, String(asked));
    t.true(simulation.keys.length <= 2);
    if (fault !== 'lost') {
      t.is(simulation.status()?.conditions[1]?.reason, 'StepFailed');
      t.true(asked >= 10, String(asked));
    }
    simulation.failWith(() => undefined);
    await settle(simulation, operator);
    t.is(simulation.rotations, 1);
    t.is(simulation.keys.length, 2);
  });
}

test('who does not lead changes nothing', async (t) => {
  const simulation = createSimulation({ keepSpare: true });
  const operator = simulation.startOperator();
  await operator();
  const before = simulation.resource();
  simulation.lead(false);
  for (let pass = 0; pass < 5; pass += 1) await operator();
  t.deepEqual(simulation.resource(), before);
  t.is(simulation.keys.length, 1);
});
