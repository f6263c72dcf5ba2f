import { z } from 'zod';
import { readJsonFile } from '../../json/json-file.ts';
import { parentOf, pointerForm } from './json-pointer.ts';
import { Rule, type SyncRules } from './rules.ts';

const ObjectType = z.string().regex(/^(?:\*|[\w.-]{1,64})$/);
const Pointer = z.string().regex(pointerForm);

/**
 * For each type of object: the fields that clients do not encrypt, and the merge rules of fields.
 * Both name fields by JSON Pointers.
 */
const Rules = z.record(
  ObjectType,
  z.strictObject({
    public: z.array(Pointer).default([]),
    rules: z.record(Pointer, Rule),
  }),
);

interface RulesFile {
  readonly rules: SyncRules;
  /**
   * The problems of the file, one line each, with type and field. If the file has problems, `rules`
   * is empty.
   */
  readonly problems: readonly string[];
}

/** Rules that compare values. The service can apply them only to fields that are not encrypted. */
const ofPublicFields: ReadonlySet<Rule> = new Set(['MAX', 'MIN', 'UNION']);

/** Reads a file that holds a JSON object of rules by type of object. */
export function readSyncRules(file: string): RulesFile {
  const read = readJsonFile(file);
  if ('problem' in read) return failed([read.problem]);
  const parsed = Rules.safeParse(read.json);
  if (!parsed.success) return failed(parsed.error.issues.map(describe));
  const types = Object.entries(parsed.data);
  const problems = types.flatMap(([type, { public: fields, rules }]) =>
    Object.entries(rules)
      .filter(([pointer, rule]) => ofPublicFields.has(rule) && !isUnder(pointer, fields))
      .map(([pointer, rule]) => `${type}: ${pointer}: must be public for ${rule}`),
  );
  if (problems.length > 0) return failed(problems);
  const rules = types.map(([type, of]) => [type, new Map(Object.entries(of.rules))] as const);
  return { rules: new Map(rules), problems: [] };
}

function isUnder(pointer: string, fields: readonly string[]): boolean {
  for (let at: string | undefined = pointer; at !== undefined; at = parentOf(at)) {
    if (fields.includes(at)) return true;
  }
  return false;
}

function failed(problems: readonly string[]): RulesFile {
  return { rules: new Map(), problems };
}

function describe({ code, path, message }: z.core.$ZodIssue): string {
  const what = code === 'invalid_key' ? 'must be a type, or the JSON Pointer of a field' : message;
  return path.length === 0 ? what : `${path.map(String).join(': ')}: ${what}`;
}
