import { setTimeout as delay } from 'node:timers/promises';
import type { Condition } from './condition.ts';
import type { Clock } from './stage.ts';

const both = ['database clock_skew', 'signer clock_skew'];
const checks: Record<Clock, readonly string[]> = {
  app: both,
  signer: ['signer clock_skew'],
  database: ['database clock_skew'],
};

const more: Record<Clock, readonly string[]> = {
  // It decides whether a token is valid.
  app: ['401 token_expired', '401 invalid_token'],
  signer: [],
  database: [],
};

const refusals = (whose: Clock) => ['503 clock_skew', ...more[whose]];

function wrong(whose: Clock, seconds: number): Condition {
  return {
    name: `the clock of the ${whose} is ${seconds} s off`,
    begin: ({ setClock }) => setClock(whose, seconds),
    end: ({ setClock }) => setClock(whose, 0),
    health: checks[whose],
    alerts: ['clock_skew'],
    refusals: refusals(whose),
  };
}

/** Sets a clock back and forth by an hour, ten times a second. */
function stepping(whose: Clock): Condition {
  let steps: NodeJS.Timeout | undefined;
  let isAhead = false;
  return {
    name: `the clock of the ${whose} steps back and forth`,
    async begin({ setClock }) {
      steps = setInterval(() => {
        isAhead = !isAhead;
        void setClock(whose, isAhead ? 3_600 : 0);
      }, 100);
    },
    async end({ setClock }) {
      clearInterval(steps);
      await delay(200);
      await setClock(whose, 0);
    },
    health: [],
    alerts: [],
    refusals: refusals(whose),
  };
}

const all = ['app', 'signer', 'database'] as const;

export const clocks: readonly Condition[] = [
  ...[600, -3_600, 90_000].flatMap((seconds) => all.map((whose) => wrong(whose, seconds))),
  ...all.map(stepping),
];
