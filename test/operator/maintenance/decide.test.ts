import test from 'ava';
import { decide } from '../../../k8s/maintenance/decide.ts';
import type { ObservedMaintenance, TaskSchedule } from '../../../k8s/maintenance/observed.ts';
import { VaultMaintenance } from '../../../k8s/resources/vault-maintenance.ts';
import type { MaintenanceState } from '../../../k8s/vault/answers.ts';
import { after, start } from '../support/keys.ts';

type Run = NonNullable<MaintenanceState['tasks'][number]['lastRun']>;

const day = 86_400;
const run = (more: Partial<Run> = {}): Run => ({
  state: 'SUCCEEDED',
  error: null,
  startedAt: start.toISOString(),
  ...more,
});

interface Scene extends Partial<Omit<ObservedMaintenance, 'vault' | 'resource'>> {
  readonly runs?: Readonly<Record<string, Run | null>>;
  readonly unsigned?: number;
  readonly dead?: number;
  readonly spec?: object;
  readonly status?: object;
}

const schedule = (task: string): TaskSchedule => ({
  task,
  name: `vault-${task}`,
  schedule: '11 1 * * *',
  timeZone: 'Etc/UTC',
  isSuspended: false,
  createdAt: start,
});

function look({
  runs = { 'verify-log': run() },
  unsigned = 0,
  dead = 0,
  spec,
  status,
  ...more
}: Scene) {
  const resource = VaultMaintenance.parse({
    apiVersion: 'probatio.dev/v1alpha1',
    kind: 'VaultMaintenance',
    metadata: {
      name: 'vault',
      namespace: 'vault',
      uid: 'u',
      generation: 3,
      resourceVersion: '1',
      creationTimestamp: start.toISOString(),
    },
    spec: spec ?? {},
    ...(status === undefined ? {} : { status }),
  });
  const tasks = Object.entries(runs).map(([task, last]) => ({
    task,
    lastRun: last,
    lastSuccess: last?.state === 'SUCCEEDED' ? last : null,
  }));
  return decide({
    now: start,
    resource,
    vault: {
      ok: {
        tasks,
        backlog: { unsigned, oldestAt: null },
        deadLetters: { pending: dead, oldestAt: null },
      },
    },
    schedules: [],
    signingKeys: [],
    jobs: new Set(),
    ...more,
  });
}

const found = ({ status }: ReturnType<typeof decide>) =>
  status.conditions.map(({ type, status: value, reason }) => `${type} ${value} ${reason}`);

const well = [
  'Healthy True AllWell',
  'BacklogGrowing False BacklogLow',
  'KeyOverdue False RotationsInTime',
  'VerificationFailed False LogVerified',
];

/** The findings that differ from those of a vault that is well, by the scene. */
const table: readonly (readonly [name: string, scene: Scene, ...findings: string[]])[] = [
  ['all is well', {}],
  ['a log that was never verified', { runs: {} }, 'VerificationFailed Unknown NeverVerified'],
  [
    'a damaged log',
    { runs: { 'verify-log': run({ state: 'FAILED', error: 'log_damaged' }) } },
    'Healthy False LogDamaged',
    'VerificationFailed True LogDamaged',
  ],
  [
    'a verification that failed',
    { runs: { 'verify-log': run({ state: 'FAILED', error: 'database_unavailable' }) } },
    'Healthy False VerificationIncomplete',
    'VerificationFailed True VerificationIncomplete',
  ],
  ['a verification that goes on', { runs: { 'verify-log': run({ state: 'RUNNING' }) } }],
  [
    'another task that failed',
    { runs: { 'verify-log': run(), 'purge-jobs': run({ state: 'FAILED', error: 'busy' }) } },
    'Healthy False TaskFailed',
  ],
  ['a backlog at its limit', { unsigned: 10_000 }],
  [
    'a backlog above its limit',
    { unsigned: 10_001 },
    'Healthy False BacklogHigh',
    'BacklogGrowing True BacklogHigh',
  ],
  ['dead letters', { dead: 1 }, 'Healthy False DeadLetters'],
  ['dead letters that are left alone', { dead: 1, spec: { retryDeadLetters: { above: 1 } } }],
  ['a task in time', { schedules: [schedule('verify-log')], now: after(day) }],
  [
    'a task that is overdue',
    { schedules: [schedule('verify-log')], now: after(2 * day) },
    'Healthy False TaskOverdue',
  ],
  [
    'a task that never ran, since a long time',
    { schedules: [schedule('purge-jobs')], now: after(2 * day) },
    'Healthy False TaskOverdue',
  ],
  [
    'a task that is suspended',
    { schedules: [{ ...schedule('verify-log'), isSuspended: true }], now: after(2 * day) },
  ],
  [
    'a rotation that is a day late',
    { signingKeys: [{ name: 'audit', nextRotation: start.toISOString() }], now: after(day + 1) },
    'Healthy False RotationOverdue',
    'KeyOverdue True RotationOverdue',
  ],
  [
    'a rotation that is an hour late',
    { signingKeys: [{ name: 'audit', nextRotation: start.toISOString() }], now: after(3_600) },
  ],
];

for (const [name, scene, ...findings] of table) {
  test(`found: ${name}`, (t) => {
    const typeOf = (finding: string) => finding.slice(0, finding.indexOf(' '));
    const expected = well.map(
      (usual) => findings.find((finding) => typeOf(finding) === typeOf(usual)) ?? usual,
    );
    const decision = look(scene);
    t.deepEqual(found(decision), expected);
    t.true(decision.status.conditions.every((one) => one.observedGeneration === 3));
    const again = look({ ...scene, status: decision.status });
    t.deepEqual([again.events, again.status], [[], decision.status]);
  });
}

test('while no pod answers, the conditions are unknown and what was known is kept', (t) => {
  const { status } = look({ unsigned: 7 });
  const decision = look({ status, vault: { failure: { code: 'unreachable' } } } as Scene);
  t.deepEqual(found(decision).slice(0, 3), [
    'Healthy Unknown VaultUnavailable',
    'BacklogGrowing Unknown VaultUnavailable',
    'VerificationFailed Unknown VaultUnavailable',
  ]);
  t.is(decision.status.backlog, 7);
});

test('a task’s status has its last run, its result and its next run by the time zone', (t) => {
  const schedules = [{ ...schedule('verify-log'), timeZone: 'Europe/Paris' }];
  const { status } = look({
    schedules,
    runs: { 'verify-log': run({ state: 'FAILED', error: 'log_damaged' }) },
  });
  t.like(status.tasks[0], {
    task: 'verify-log',
    lastRun: start.toISOString(),
    result: 'FAILED log_damaged',
    nextRun: '2026-11-27T00:11:00.000Z',
  });
  const odd = look({ schedules: [{ ...schedule('verify-log'), schedule: 'now and then' }] });
  t.is(odd.status.tasks[0]?.nextRun, undefined);
});

test('dead letters are retried by one Job in the time between, written down first', (t) => {
  const scene = {
    dead: 3,
    spec: { retryDeadLetters: { everyMinutes: 30 } },
    schedules: [schedule('retry-dlq')],
  };
  const first = look(scene);
  t.deepEqual([first.action, first.status.lastRetry], [undefined, start.toISOString()]);
  const second = look({ ...scene, status: first.status, now: after(1) });
  const { action } = second;
  t.like(action, { kind: 'run', cronJob: 'vault-retry-dlq' });
  t.true((action?.job.length ?? 99) <= 'vault-retry-dlq'.length + 11);
  // A process that was killed before or after it made the Job decides on the same one.
  t.deepEqual(look({ ...scene, status: first.status, now: after(90) }).action, action);
  const jobs = new Set([action?.job ?? '']);
  t.is(look({ ...scene, status: first.status, jobs, now: after(1_799) }).action, undefined);
  const later = look({ ...scene, status: first.status, jobs, now: after(1_800) });
  t.deepEqual([later.action, later.status.lastRetry], [undefined, after(1_800).toISOString()]);
});

test('nothing is retried without dead letters, without the option, or without a CronJob', (t) => {
  const spec = { retryDeadLetters: {} };
  const schedules = [schedule('retry-dlq')];
  for (const scene of [
    { dead: 0, spec, schedules },
    { dead: 3, schedules },
    { dead: 3, spec },
  ]) {
    const { action, status } = look(scene);
    t.deepEqual([action, status.lastRetry], [undefined, undefined]);
  }
});
