import * as fc from 'fast-check';
import { pathOf } from '../../support/client/recording-fetch.ts';

type Json = Record<string, unknown>;

interface Answer {
  readonly path: string;
  readonly body: unknown;
}

/** The kinds of answers that are recorded and mixed, by the method and path of their requests. */
const kinds = {
  document: /^GET .*\/documents\/[0-9a-f-]{36}$/,
  versions: /^GET .*\/versions$/,
  search: /^POST .*\/search$/,
  shared: /^GET .*\/documents\/shared$/,
  masterEnvelope: /^GET .*\/master-envelope$/,
};
type Kind = keyof typeof kinds;

/** A choice of recorded answers, as numbers that are taken modulo what there is. */
interface Choice {
  /** The answer, of any document and any time. */
  readonly answer: number;
  /** Members, or elements of a list, that come from other answers. */
  readonly mixed: readonly { readonly place: number; readonly from: number }[];
  /** Elements of a list that are left out. */
  readonly dropped: readonly number[];
  /** Whether the answer was one to the same request, at any time. */
  readonly isOwn: boolean;
  /** Whether the id is the one that was asked for. */
  readonly isRenamed: boolean;
}
export type Choices = Readonly<Record<Kind, Choice>>;

const choice: fc.Arbitrary<Choice> = fc.record({
  answer: fc.nat(10_000),
  mixed: fc.array(fc.record({ place: fc.nat(20), from: fc.nat(10_000) }), { maxLength: 3 }),
  dropped: fc.array(fc.nat(20), { maxLength: 2 }),
  isOwn: fc.boolean(),
  isRenamed: fc.boolean(),
});

/** Generates an answer for each kind of request. */
export const choices: fc.Arbitrary<Choices> = fc.record({
  document: choice,
  versions: choice,
  search: choice,
  shared: choice,
  masterEnvelope: choice,
});

/**
 * Creates a fetch that passes requests on and records the answers, until it is told to answer from
 * the record.
 */
export function createRecordedVault() {
  const answers: Record<Kind, Answer[]> = {
    document: [],
    versions: [],
    search: [],
    shared: [],
    masterEnvelope: [],
  };
  let told: Choices | undefined;

  const recorded: typeof fetch = async (input, init) => {
    const request = `${init?.method ?? 'GET'} ${pathOf(input)}`;
    const kind = Object.keys(kinds).find((name): name is Kind => kinds[name as Kind].test(request));
    if (kind === undefined) return fetch(input, init);
    if (told !== undefined) return respond(pathOf(input), answers[kind], told[kind]);
    const response = await fetch(input, init);
    if (response.ok) {
      answers[kind].push({ path: pathOf(input), body: await response.clone().json() });
    }
    return response;
  };

  return {
    fetch: recorded,
    /** Answers the recorded kinds of requests by this choice from now on. */
    answer: (choice: Choices) => void (told = choice),
    counts: () => Object.entries(answers).map(([kind, all]) => `${kind} ${all.length}`),
  };
}

function respond(path: string, answers: readonly Answer[], chosen: Choice): Response {
  const own = answers.filter((answer) => answer.path === path);
  const candidates = chosen.isOwn && own.length > 0 ? own : answers;
  const value = mix(
    candidates.map(({ body }) => body),
    chosen,
  );
  const isNamed = !Array.isArray(value) && chosen.isRenamed;
  const body = isNamed ? { ...(value as Json), id: path.split('/').at(-1) } : value;
  return Response.json(body, { headers: { etag: `"${chosen.answer}"` } });
}

function mix(answers: readonly unknown[], { answer, mixed, dropped }: Choice): unknown {
  const value = pick(answers, answer);
  return Array.isArray(value)
    ? mixList(answers as readonly (readonly Json[])[], value as Json[], { mixed, dropped })
    : mixMembers(value as Json, mixed, answers as readonly Json[]);
}

/** Replaces elements of a list, or members of them, and leaves others out. */
function mixList(
  answers: readonly (readonly Json[])[],
  list: readonly Json[],
  { mixed, dropped }: Pick<Choice, 'mixed' | 'dropped'>,
): Json[] {
  const elements = answers.flat();
  if (elements.length === 0) return [];
  const changed = [...list];
  for (const { place, from } of mixed) {
    const index = place % (list.length + 1);
    const other = pick(elements, from);
    const present = changed[index];
    // Every second replacement is of one member alone.
    const isWhole = from % 2 === 0 || present === undefined;
    changed[index] = isWhole ? other : mixMembers(present, [{ place, from }], elements);
  }
  return changed.filter((_, index) => !dropped.includes(index));
}

function mixMembers(value: Json, mixed: Choice['mixed'], answers: readonly Json[]): Json {
  const names = Object.keys(value);
  const changes = mixed.map(({ place, from }) => {
    const name = pick(names, place);
    return [name, pick(answers, from)[name]];
  });
  return { ...value, ...(Object.fromEntries(changes) as Json) };
}

function pick<T>(all: readonly T[], index: number): T {
  const found = all[index % all.length];
  if (found === undefined) throw new RangeError('nothing was recorded');
  return found;
}
