import { findIn, look, runbook, type Finding, type Outcome } from './finding.ts';
import { findHealth } from './health.ts';
import { findKeys, findToken } from './keys.ts';
import { findMarks } from './marks.ts';
import { findAlerts, findBacklog, findLetters, findOutbox } from './queues.ts';
import { findJobs, findTasks } from './tasks.ts';
import type { VaultAnswers } from './vault.ts';

/** The findings about a vault at one moment. */
export interface Page {
  /** `look` if any finding needs a look. */
  readonly status: 'ok' | 'look';
  readonly checkedAt: Date;
  readonly checks: readonly Finding[];
}

/**
 * Creates the page about a vault from its answers, or from the reason why it answers nothing. The
 * thresholds of the queues are those of the vault, and the others those of the alerting rules.
 */
export function createPage(answers: VaultAnswers | string, checkedAt: Date): Page {
  const checks =
    typeof answers === 'string'
      ? [look('vault', answers, runbook('TargetAbsent'))]
      : listFindings(answers, checkedAt);
  const isWell = checks.every(({ status }) => status === 'ok');
  return { status: isWell ? 'ok' : 'look', checkedAt, checks };
}

function listFindings(answers: VaultAnswers, now: Date): readonly Finding[] {
  const { health, alerts, letters, keys, signer, marks, maintenance } = answers;
  const judgedQueues = both(maintenance, alerts);
  return [
    ...findIn('health', health, findHealth),
    ...findIn('alerts', alerts, (raised) => findAlerts(raised, now)),
    ...findIn('backlog', judgedQueues, ([state, raised]) => [findBacklog(state, raised, now)]),
    ...findIn('dead letters', both(letters, alerts), ([stats, raised]) => [
      findLetters(stats, raised, now),
    ]),
    ...findIn('keys', keys, (registered) => findKeys(registered, now)),
    ...findIn(
      'signer',
      both(signer, keys),
      ([held, registered]) => [findToken(held, registered)],
      runbook('SignerDown'),
    ),
    ...findIn('marks', marks, (state) => [findMarks(state, now)]),
    ...findIn('tasks', both(maintenance, keys), ([state, registered]) =>
      findTasks(state, registered, now),
    ),
    ...findIn('outbox', maintenance, (state) => [findOutbox(state, now)]),
    ...findIn('jobs', maintenance, (state) => [findJobs(state)]),
  ];
}

/** Returns two answers, or the first failure. */
function both<A, B>(first: Outcome<A>, second: Outcome<B>): Outcome<readonly [A, B]> {
  if ('failure' in first) return first;
  return 'failure' in second ? second : { answer: [first.answer, second.answer] };
}

/** Renders one line for each finding: its status, its name, what was found, and what to do. */
export function renderLines({ checks }: Page): string {
  const width = 1 + Math.max(...checks.map(({ name }) => name.length));
  return checks
    .map(({ status, name, text, advice }) => {
      const help = advice === null ? '' : ` -> ${advice}`;
      return `${status.padEnd(4)}  ${`${name}:`.padEnd(width)} ${text}${help}\n`;
    })
    .join('');
}

/** Renders the page as a JSON object in one line. */
export function renderJson({ status, checkedAt, checks }: Page): string {
  return `${JSON.stringify({ status, checkedAt, checks })}\n`;
}
