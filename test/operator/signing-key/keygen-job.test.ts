import test from 'ava';
import type { JobState } from '../../../k8s/cluster/workloads.ts';
import { createKeygenRunner } from '../../../k8s/signing-key/keygen-job.ts';
import { createSimulation, settle, type Simulation } from '../support/simulated-cluster.ts';
import { after, signingKey, key, start } from '../support/keys.ts';
import { decide } from '../../../k8s/signing-key/decide.ts';

const cronJob = 'vault-keygen-audit';

/** Creates a cluster that runs Jobs, whose states a test sets. */
function createJobs() {
  const states = new Map<string, JobState>();
  const generations: string[] = [];
  return {
    states,
    generations,
    workloads: {
      findKeygen: async () => cronJob,
      findKeygenJob: async (name: string) => states.get(name),
      async runCronJob(from: string, name: string, annotations: object = {}) {
        if (states.has(name)) return;
        states.set(name, 'running');
        generations.push(`${from} ${JSON.stringify(annotations)}`);
      },
    },
  };
}

/** Lets a Job make its key, and the pods start with it. */
async function finish(simulation: Simulation, generation: number): Promise<void> {
  await simulation.vault.createKey('http://10.0.0.1:8081', 'audit', generation);
  simulation.seal();
  for (const pod of simulation.pods) simulation.replicate(pod);
}

test('a rotation makes one Job, and goes on when its key is registered', async (t) => {
  const jobs = createJobs();
  const simulation = createSimulation({}, createKeygenRunner({ workloads: jobs.workloads }));
  simulation.annotate('now');
  const operator = simulation.startOperator();
  for (let pass = 0; pass < 20; pass += 1) {
    await operator();
    simulation.advance(10);
  }
  t.deepEqual(jobs.generations, [`${cronJob} {"probatio.dev/generation":"2"}`]);
  t.deepEqual([...jobs.states.keys()], [`${cronJob}-2-0`]);
  t.false(simulation.requests.includes('create'));
  t.like(simulation.status(), { creating: 2, failedAttempts: 0 });
  const rotating = simulation.status()?.conditions.find(({ type }) => type === 'Rotating');
  t.is(rotating?.reason, 'CreatingKey');
  await finish(simulation, 2);
  await settle(simulation, operator);
  t.is(simulation.rotations, 1);
  t.is(jobs.generations.length, 1);
  t.deepEqual(simulation.violations, []);
});

test('a Job that failed is followed by another, ever more rarely', async (t) => {
  const jobs = createJobs();
  const simulation = createSimulation({}, createKeygenRunner({ workloads: jobs.workloads }));
  simulation.annotate('now');
  const operator = simulation.startOperator();
  for (let second = 0; second < 3_600; second += 1) {
    await operator();
    for (const name of jobs.states.keys()) jobs.states.set(name, 'failed');
    simulation.advance(1);
  }
  const names = [...jobs.states.keys()];
  t.true(names.length >= 5 && names.length <= 20, String(names.length));
  t.deepEqual(
    names,
    names.map((_, attempt) => `${cronJob}-2-${attempt}`),
  );
  t.is(simulation.status()?.lastFailure, 'keygen_failed');
  const rotating = simulation.status()?.conditions.find(({ type }) => type === 'Rotating');
  t.is(rotating?.reason, 'StepFailed');
});

test('a Job that runs keeps the count of those that failed before it', (t) => {
  const { status } = decide({
    now: after(10),
    resource: signingKey({
      status: {
        creating: 2,
        rotation: { from: key(1).keyId, startedAt: start.toISOString() },
        failedAttempts: 1,
        lastFailure: 'keygen_failed',
      },
    }),
    elder: undefined,
    keys: { ok: [key(1, { state: 'ACTIVE' })] },
    replicas: [],
    failed: {
      action: { kind: 'create', purpose: 'audit', generation: 2 },
      failure: { code: 'keygen_running', retryAfterSeconds: 5 },
    },
  });
  t.like(status, { failedAttempts: 1, lastFailure: 'keygen_failed', creating: 2 });
  t.is(status.notBefore, after(15).toISOString());
});

test('a missing CronJob, and a key that no app knows, have a code of their own', async (t) => {
  const creation = { kind: 'create', purpose: 'audit', generation: 3 } as const;
  const { workloads, states } = createJobs();
  const missing = createKeygenRunner({
    workloads: { ...workloads, findKeygen: async () => undefined },
  });
  t.deepEqual(await missing(creation, 0), { code: 'keygen_missing' });
  states.set(`${cronJob}-3-2`, 'complete');
  const run = createKeygenRunner({ workloads });
  t.deepEqual(await run(creation, 2), { code: 'key_not_registered' });
});
