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

/** What the page lets a test do, as its buttons would. An error keeps its code this way. */
async function runStep(name: StepName, options: unknown): Promise<StepOutcome> {
  try {
    const step = steps[name] as (options: unknown) => unknown;
    return { value: await step(options) };
  } catch (error) {
    const { code, stack } = error as Error & { code?: string };
    return { code, stack: stack ?? String(error) };
  }
}

Object.assign(globalThis, { runStep });
