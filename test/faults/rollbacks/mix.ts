import type { Choice } from './choices.ts';

type Json = Record<string, unknown>;
type Mixed = Choice['mixed'];

/** Returns a recorded file, or the beginning of one and the rest of another. */
export function mixBytes(
  files: readonly Buffer[],
  { answer, mixed }: Choice,
): Uint8Array<ArrayBuffer> {
  const file = pick(files, answer);
  const [splice] = mixed;
  if (splice === undefined) return new Uint8Array(file);
  const cut = Math.floor((file.length * splice.place) / 20);
  return new Uint8Array(
    Buffer.concat([file.subarray(0, cut), pick(files, splice.from).subarray(cut)]),
  );
}

/** Returns a recorded answer with parts of others, perhaps under the id that was asked for. */
export function mixJson(answers: readonly unknown[], choice: Choice, id: string): unknown {
  const value = pick(answers, choice.answer);
  if (Array.isArray(value)) {
    return mixList((answers as readonly Json[][]).flat(), value as readonly Json[], choice);
  }
  const mixed = mixMembers(value as Json, choice.mixed, answers as readonly Json[]);
  const lists = Object.entries(mixed).filter(
    (entry): entry is [string, Json[]] => Array.isArray(entry[1]) && isObject(entry[1][0]),
  );
  for (const [name, list] of lists) {
    const elements = answers.flatMap((answer) => (answer as Record<string, Json[]>)[name] ?? []);
    mixed[name] = mixList(elements, list, choice);
  }
  return choice.isRenamed && 'id' in mixed ? { ...mixed, id } : mixed;
}

/** Replaces elements of a list, or members of them, and leaves others out. */
function mixList(
  elements: readonly Json[],
  list: readonly Json[],
  { mixed, dropped }: Pick<Choice, 'mixed' | 'dropped'>,
): Json[] {
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

/** Replaces members by those of other answers; of objects within, members of theirs. */
function mixMembers(value: Json, mixed: Mixed, answers: readonly Json[]): Json {
  const names = Object.keys(value);
  const changes = mixed.map(({ place, from }) => {
    const name = pick(names, place);
    const [own, other] = [value[name], pick(answers, from)[name]];
    const isWhole = from % 2 === 0 || !isObject(own) || !isObject(other);
    return [name, isWhole ? other : mixMembers(own, [{ place: from, from: place }], [other])];
  });
  return { ...value, ...(Object.fromEntries(changes) as Json) };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function pick<T>(all: readonly T[], index: number): T {
  const found = all[index % all.length];
  if (found === undefined) throw new RangeError('nothing was recorded');
  return found;
}
