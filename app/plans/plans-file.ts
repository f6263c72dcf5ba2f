import { z } from 'zod';
import { counters, type Counter } from '../db/usage/quota.ts';
import { readJsonFile } from '../json/json-file.ts';
import type { Plan } from './plan.ts';

const Name = z.string().regex(/^[\w.-]{1,64}$/);

const Limit = z.int().positive();
const limits = Object.fromEntries(counters.map((counter) => [counter, Limit.optional()])) as Record<
  Counter,
  z.ZodOptional<typeof Limit>
>;

const Plans = z.record(
  Name,
  z.strictObject({ ...limits, openUploads: Limit, storageBytes: Limit }),
);

interface PlansFile {
  readonly plans: ReadonlyMap<string, Partial<Plan>>;
  /**
   * The problems of the file, one line each, without values from it. If the file has problems,
   * `plans` is empty.
   */
  readonly problems: readonly string[];
}

/**
 * Reads a JSON file of plans by name. The file must not contain the standard plan, which the
 * settings PLANS_STANDARD_… define.
 */
export function readPlans(file: string): PlansFile {
  const read = readJsonFile(file);
  if ('problem' in read) return failed([read.problem]);
  const parsed = Plans.safeParse(read.json);
  if (!parsed.success) return failed(parsed.error.issues.map(describe));
  if ('standard' in parsed.data) return failed(['standard: is set by PLANS_STANDARD_…']);
  return { plans: new Map(Object.entries(parsed.data)), problems: [] };
}

function failed(problems: readonly string[]): PlansFile {
  return { plans: new Map(), problems };
}

function describe({ code, path, message }: z.core.$ZodIssue): string {
  const what = code === 'invalid_key' ? 'must be 1 to 64 letters, digits, . _ or -' : message;
  return path.length === 0 ? what : `${path.map(String).join('.')}: ${what}`;
}
