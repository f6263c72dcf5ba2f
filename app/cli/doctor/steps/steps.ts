import { inTime } from '../../../async/in-time.ts';
import { describeFailure, type Dependency } from './failure-text.ts';

export type Grade = 'ok' | 'warn' | 'fail';

/** The result of a step: in one line, without secrets, what was found and what to do. */
export interface Verdict {
  readonly grade: Grade;
  readonly text: string;
}

export interface Finding extends Verdict {
  readonly name: string;
}

/** One thing that the doctor examines. */
export interface Step {
  readonly name: string;
  /** The names of earlier steps that must not fail, or this one cannot be examined. */
  readonly needs?: readonly string[];
  /** The dependency that an error of `run` is about. */
  readonly of: Dependency;
  run(): Promise<Verdict>;
}

/** Milliseconds for one step. A dependency that hangs costs this once, as other steps need it. */
const stepMs = 10_000;

/**
 * Runs all steps concurrently, each after those that it needs, and resolves with what each found,
 * in the order of the steps. Never rejects: an error of a step is its finding.
 */
export async function runSteps(steps: readonly Step[]): Promise<readonly Finding[]> {
  const findings = new Map<string, Promise<Finding>>();
  for (const step of steps) findings.set(step.name, runStep(step, findings));
  return Promise.all(findings.values());
}

async function runStep(
  { name, needs = [], of, run }: Step,
  findings: ReadonlyMap<string, Promise<Finding>>,
): Promise<Finding> {
  const needed = await Promise.all(needs.flatMap((need) => findings.get(need) ?? []));
  const failed = needed.find(({ grade }) => grade === 'fail');
  if (failed !== undefined) {
    return { name, grade: 'fail', text: `not examined, since ${failed.name} failed` };
  }
  try {
    return { name, ...(await inTime(stepMs, run())) };
  } catch (error) {
    return { name, grade: 'fail', text: describeFailure(error, of) };
  }
}

export function ok(text: string): Verdict {
  return { grade: 'ok', text };
}

export function warn(text: string): Verdict {
  return { grade: 'warn', text };
}

export function fail(text: string): Verdict {
  return { grade: 'fail', text };
}
