import '../../../client/browser/no-eval.ts';
import { accountSteps } from './account.ts';
import { documentSteps } from './documents.ts';
import { objectSteps } from './objects.ts';

const steps = { ...accountSteps, ...documentSteps, ...objectSteps };

export type Steps = typeof steps;
export type StepName = keyof Steps;

export type StepOutcome =
  | { readonly value: unknown }
  | { readonly code: string | undefined; readonly stack: string };

/**
 * Runs one step of the application for a test, as its buttons would. Returns an error with its
 * code, which an error thrown across the browser boundary would lose.
 */
async function runStep(name: StepName, options: unknown): Promise<StepOutcome> {
  try {
    const step = steps[name] as (options: unknown) => unknown;
    return { value: await step(options) };
  } catch (error) {
    const { code, stack } = error as Error & { readonly code?: string };
    return { code, stack: stack ?? String(error) };
  }
}

Object.assign(globalThis, { runStep });
