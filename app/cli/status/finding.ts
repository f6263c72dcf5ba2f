/** One line of the page. */
export interface Finding {
  /** Names the subject, such as `health.database` or `task verify-log`. */
  readonly name: string;
  readonly status: 'ok' | 'look';
  readonly text: string;
  /** The command or page of the documentation that helps; null if all is well. */
  readonly advice: string | null;
}

/** An answer of the vault, or the reason why there is none. */
export type Outcome<T> = { readonly answer: T } | { readonly failure: string };

export function well(name: string, text: string): Finding {
  return { name, status: 'ok', text, advice: null };
}

export function look(name: string, text: string, advice: string): Finding {
  return { name, status: 'look', text, advice };
}

/** Returns the finding that needs a look for a problem, or that all is well without one. */
export function judged(
  name: string,
  text: string,
  { problem, advice }: { readonly problem: string | undefined; readonly advice: string },
): Finding {
  return problem === undefined ? well(name, text) : look(name, `${problem}: ${text}`, advice);
}

/** Returns the findings of an answer, or the one that there is no answer, with its advice. */
export function findIn<T>(
  name: string,
  outcome: Outcome<T>,
  find: (answer: T) => readonly Finding[],
  advice = 'run probatio doctor',
): readonly Finding[] {
  if ('answer' in outcome) return find(outcome.answer);
  return [look(name, `cannot be read: ${outcome.failure}`, advice)];
}

/** Returns the advice to read a runbook. */
export function runbook(alert: string): string {
  return `see docs/runbooks/${alert}.md`;
}
