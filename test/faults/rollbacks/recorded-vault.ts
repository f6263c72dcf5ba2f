import { pathOf } from '../../support/client/recording-fetch.ts';
import type { Choices } from './choices.ts';
import { kindOf, kinds, type Kind } from './kinds.ts';
import { mixBytes, mixJson } from './mix.ts';

/** An answer that was recorded: its JSON, or the bytes of a file. */
interface Answer {
  readonly path: string;
  readonly body: unknown;
}

/**
 * Creates a fetch that passes requests on and records the answers, until it is told to answer from
 * the record.
 */
export function createRecordedVault() {
  const answers = new Map<Kind, Answer[]>(kinds.map((kind) => [kind, []]));
  let told: Choices | undefined;

  const recorded: typeof fetch = async (input, init) => {
    const path = pathOf(input);
    const kind = kindOf(`${init?.method ?? 'GET'} ${path}`);
    const all = kind === undefined ? undefined : answers.get(kind);
    if (kind === undefined || all === undefined) return fetch(input, init);
    if (told !== undefined) return respond(path, all, told[kind]);
    const response = await fetch(input, init);
    if (response.ok) all.push({ path, body: await read(kind, response.clone()) });
    return response;
  };

  return {
    fetch: recorded,
    /** Answers the recorded kinds of requests by this choice from now on. */
    answer: (choice: Choices) => void (told = choice),
    counts: () => Array.from(answers, ([kind, all]) => `${kind} ${all.length}`),
  };
}

async function read(kind: Kind, response: Response): Promise<unknown> {
  return kind === 'content' ? Buffer.from(await response.arrayBuffer()) : response.json();
}

function respond(path: string, answers: readonly Answer[], chosen: Choices[Kind]): Response {
  const own = answers.filter((answer) => answer.path === path);
  const candidates = (chosen.isOwn && own.length > 0 ? own : answers).map(({ body }) => body);
  const headers = { etag: `"${chosen.answer}"` };
  if (candidates.every((body) => Buffer.isBuffer(body))) {
    return new Response(mixBytes(candidates, chosen), { headers });
  }
  return Response.json(mixJson(candidates, chosen, path.split('/').at(-1) ?? ''), { headers });
}
