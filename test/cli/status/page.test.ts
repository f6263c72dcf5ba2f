import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import type { Key, MaintenanceAnswer, MarksAnswer } from '../../../app/cli/status/answers.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import { createPage } from '../../../app/cli/status/page.ts';
import type { VaultAnswers } from '../../../app/cli/status/vault.ts';
import {
  purgingTasks,
  sharedThresholds,
  taskIntervalSeconds,
} from '../../../app/telemetry/thresholds.ts';

const now = new Date('2026-11-26T12:00:00Z');
const before = (seconds: number) => new Date(now.getTime() - 1_000 * seconds);
const { markAgeSeconds, unmarkedSeconds, signingKeyAgeSeconds, missedIntervals } = sharedThresholds;

const keyOf = (purpose: string, ageSeconds: number): Key => ({
  keyId: `${purpose}-id`,
  purpose,
  generation: 1,
  state: 'ACTIVE',
  registeredAt: before(ageSeconds),
  activatedAt: before(ageSeconds),
});
const keys = [keyOf('audit', 60), keyOf('token', 60)];

const marks: MarksAnswer = {
  sealedEntries: 7,
  unmarkedEntries: 0,
  unmarkedAgeSeconds: null,
  newest: {
    writtenAt: before(1_000_000),
    ageSeconds: 1_000_000,
    state: 'valid',
    sealedEntries: 7,
    newestEntryId: 'id',
  },
};

const maintenance: MaintenanceAnswer = {
  tasks: [],
  outbox: { waiting: 0, oldestAt: null, parked: {} },
  jobs: { pending: 0, active: 0, completed: 0, failed: 0, retried: 0 },
  backlog: { unsigned: 0, oldestAt: null },
};

const well: VaultAnswers = {
  health: { answer: { checks: { database: { status: 'ok', latencyMs: 1 } } } },
  alerts: { answer: [] },
  letters: { answer: { pending: 0, oldestAt: null, byReason: {} } },
  keys: { answer: keys },
  signer: { answer: { tokenState: 'ready', keyIds: ['audit-id', 'token-id'] } },
  marks: { answer: marks },
  maintenance: { answer: maintenance },
};

/** Returns the names and the advice of what needs a look. */
function looksOf(answers: Partial<VaultAnswers>): readonly (readonly [string, string | null])[] {
  return createPage({ ...well, ...answers }, now)
    .checks.filter(({ status }) => status === 'look')
    .map(({ name, advice }) => [name, advice]);
}

const runbook = (name: string) => `see docs/runbooks/${name}.md`;

test('nothing needs a look if all is well, however old the mark of an idle vault is', (t) => {
  t.deepEqual(looksOf({}), []);
  t.is(createPage(well, now).status, 'ok');
});

test('a mark needs a look as MarkStale does: entries lack one, and the newest is old', (t) => {
  const newest = marks.newest as NonNullable<MarksAnswer['newest']>;
  const markOf = (ageSeconds: number, unmarkedAgeSeconds: number | null) =>
    looksOf({
      marks: {
        answer: {
          ...marks,
          unmarkedEntries: 1,
          unmarkedAgeSeconds,
          newest: { ...newest, ageSeconds },
        },
      },
    });
  const stale = [['marks', runbook('MarkStale')]] as const;
  t.deepEqual(markOf(markAgeSeconds, unmarkedSeconds), []);
  t.deepEqual(markOf(markAgeSeconds + 1, unmarkedSeconds - 1), []);
  t.deepEqual(markOf(markAgeSeconds + 1, unmarkedSeconds), stale);
  t.deepEqual(markOf(markAgeSeconds + 1, null), stale);
  for (const state of ['missing', 'unreadable']) {
    const answer = { ...marks, unmarkedEntries: null, newest: { ...newest, state } };
    t.deepEqual(looksOf({ marks: { answer } }), stale, state);
  }
  const never = (unmarkedAgeSeconds: number) =>
    looksOf({
      marks: { answer: { ...marks, newest: null, unmarkedEntries: 7, unmarkedAgeSeconds } },
    });
  t.deepEqual(never(markAgeSeconds), []);
  t.deepEqual(never(markAgeSeconds + 1), stale);
});

test('a key needs a look after a year, or if none of its purpose is active or held', (t) => {
  const audit = keyOf('audit', 60);
  const aged = (seconds: number) => looksOf({ keys: { answer: [audit, keyOf('token', seconds)] } });
  t.deepEqual(aged(signingKeyAgeSeconds), []);
  t.deepEqual(aged(signingKeyAgeSeconds + 1), [['key token', runbook('RotationOverdue')]]);
  t.deepEqual(looksOf({ keys: { answer: [audit] } }), [['key token', 'see docs/keys.md']]);
  const heldBy = (tokenState: string, keyIds: string[] | null) =>
    looksOf({ signer: { answer: { tokenState, keyIds } } }).map(([name]) => name);
  t.deepEqual(heldBy('ready', ['audit-id']), ['signer']);
  t.deepEqual(heldBy('ready', null), ['signer']);
  t.deepEqual(heldBy('pin_incorrect', ['audit-id', 'token-id']), ['signer']);
});

test('a task is late after two intervals without a success, or in a vault of that age', (t) => {
  for (const [task, interval] of Object.entries(taskIntervalSeconds)) {
    const limit = missedIntervals * interval;
    const late = [
      [`task ${task}`, runbook(purgingTasks.has(task) ? 'PurgeStale' : 'MaintenanceStale')],
    ];
    const run = (ageSeconds: number) => ({
      state: 'SUCCEEDED',
      error: null,
      startedAt: before(ageSeconds + 60),
      endedAt: before(ageSeconds),
    });
    const old = { keys: { answer: [keyOf('audit', limit + 1), keyOf('token', limit + 1)] } };
    const look = (ageSeconds: number | undefined, answers: Partial<VaultAnswers>) => {
      const last = ageSeconds === undefined ? null : run(ageSeconds);
      const tasks = [{ task, lastRun: last, lastSuccess: last, running: null }];
      return looksOf({ ...answers, maintenance: { answer: { ...maintenance, tasks } } });
    };
    t.deepEqual(look(limit, {}), [], task);
    t.deepEqual(look(limit + 1, {}), late);
    t.deepEqual(look(undefined, {}), []);
    t.deepEqual(look(undefined, old), late);
  }
});

test('a parked message, and each alert, needs a look with its own runbook', (t) => {
  const outbox = { waiting: 1, oldestAt: now, parked: { email: 2 } };
  t.deepEqual(looksOf({ maintenance: { answer: { ...maintenance, outbox } } }), [
    ['outbox', runbook('OutboxParked')],
  ]);
  const alert = (code: string) =>
    looksOf({
      alerts: {
        answer: [
          { code, severity: 'critical', message: 'It is.', value: 1, threshold: 1, since: now },
        ],
      },
    });
  t.deepEqual(alert('backlog_old'), [['backlog', runbook('UnsealedBacklog')]]);
  t.deepEqual(alert('backlog_large'), [['backlog', runbook('UnsealedBacklog')]]);
  t.deepEqual(alert('dead_letter_old'), [['dead letters', runbook('DLQStale')]]);
  t.deepEqual(alert('sealing_paused'), [['alert sealing_paused', runbook('SignerDown')]]);
  t.deepEqual(alert('of_a_later_release'), [
    ['alert of_a_later_release', 'see docs/dlq.md#what-an-alert-means'],
  ]);
});

test('an answer that is lacking needs a look wherever it is needed, and nowhere else', (t) => {
  const lacking = { failure: 'answered 503 database_unavailable' };
  const namesOf = (answers: Partial<VaultAnswers>) => looksOf(answers).map(([name]) => name);
  t.deepEqual(namesOf({ health: lacking }), ['health']);
  t.deepEqual(namesOf({ alerts: lacking }), ['alerts', 'backlog', 'dead letters']);
  t.deepEqual(namesOf({ letters: lacking }), ['dead letters']);
  t.deepEqual(namesOf({ keys: lacking }), ['keys', 'signer', 'tasks']);
  t.deepEqual(namesOf({ signer: lacking }), ['signer']);
  t.deepEqual(namesOf({ marks: lacking }), ['marks']);
  t.deepEqual(namesOf({ maintenance: lacking }), ['backlog', 'tasks', 'outbox', 'jobs']);
});

test('every page and heading that an advice names exists', async (t) => {
  const directory = projectFile('app/cli/status');
  const named = new Set<string>();
  for (const name of await readdir(directory)) {
    const text = await readFile(path.join(directory, name), 'utf8');
    for (const [page] of text.matchAll(/docs\/[\w/.-]+\.md(?:#[\w-]+)?/g)) named.add(page);
    for (const [, alert] of text.matchAll(/'([A-Z]\w*[a-z]\w*)'/g)) {
      named.add(`docs/runbooks/${alert}.md`);
    }
  }
  t.true(named.size > 10);
  for (const each of named) {
    const [file = '', anchor] = each.split('#');
    const text = await readFile(projectFile(file), 'utf8');
    const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    if (anchor !== undefined) t.true(anchors.includes(anchor), each);
  }
});
