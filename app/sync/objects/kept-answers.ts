import { z } from 'zod';
import { largeTextLength, type HeavyWork } from '../../async/heavy-work.ts';
import { leavesOf } from '../merge/json-pointer.ts';
import type { ObjectText, Written } from './answers.ts';
import { Applied, Conflict, ObjectView, readData } from './schema.ts';

/** Loads the canonical text of an object as of a version; null for a deletion. */
export type LoadVersion = (objectId: string, version: number) => Promise<string | null>;

/**
 * The form in which a response is kept. It refers to the object's data by the version, since the
 * answer to a short write may have 512 KiB.
 */
export interface KeptForm<Answer> {
  toKept(answer: Answer): Promise<object>;
  fromKept(kept: unknown, load: LoadVersion): Promise<Answer>;
}

const KeptCreated = ObjectView.omit({ data: true });

export const createdForm: KeptForm<ObjectText> = {
  toKept: async ({ data: _data, ...kept }) => kept,
  async fromKept(answer, load) {
    const kept = KeptCreated.parse(answer);
    const data = await load(kept.objectId, kept.version);
    if (data === null) throw new Error('a version that created an object has no data');
    return { ...kept, data };
  },
};

/** Fields in conflict: a bit for each leaf of the server's data, and the fields that it lacks. */
const KeptFields = z.strictObject({ leaves: z.base64(), others: z.array(z.string()) });

const KeptWritten = z.discriminatedUnion('status', [
  Applied.omit({ data: true }),
  Conflict.omit({ serverData: true, fields: true }).extend({ fields: KeptFields }),
]);

/** Returns the form in which the outcomes of writes are kept. */
export function createWrittenForm(heavyWork: HeavyWork): KeptForm<Written> {
  const inSteps = <T>(text: string | null, work: () => T) =>
    heavyWork.stepsFor(text !== null && text.length > largeTextLength)(work);

  return {
    async toKept(answer) {
      if (answer.status === 'APPLIED') {
        const { data: _data, ...kept } = answer;
        return kept;
      }
      const { serverData, fields, ...kept } = answer;
      return { ...kept, fields: await inSteps(serverData, () => packFields(fields, serverData)) };
    },

    async fromKept(answer, load) {
      const kept = KeptWritten.parse(answer);
      if (kept.status === 'APPLIED') {
        return { ...kept, data: await load(kept.objectId, kept.version) };
      }
      const serverData = await load(kept.objectId, kept.serverVersion);
      const fields = await inSteps(serverData, () => unpackFields(kept.fields, serverData));
      return { ...kept, fields, serverData };
    },
  };
}

function packFields(fields: readonly string[], text: string | null): z.output<typeof KeptFields> {
  const leaves = sortedLeaves(text);
  const places = new Map(leaves.map((leaf, place) => [leaf, place]));
  const bits = Buffer.alloc(Math.ceil(leaves.length / 8));
  const others: string[] = [];
  for (const field of fields) {
    const place = places.get(field);
    if (place === undefined) others.push(field);
    else bits.writeUInt8(bits.readUInt8(place >> 3) | (1 << (place & 7)), place >> 3);
  }
  return { leaves: bits.toString('base64'), others };
}

function unpackFields(
  { leaves, others }: z.output<typeof KeptFields>,
  text: string | null,
): string[] {
  const bits = Buffer.from(leaves, 'base64');
  const isSet = (place: number) => ((bits.readUInt8(place >> 3) >> (place & 7)) & 1) === 1;
  return [...others, ...sortedLeaves(text).filter((_leaf, place) => isSet(place))].toSorted();
}

/** Returns the leaves of an object in an order that does not depend on that of the members. */
function sortedLeaves(text: string | null): string[] {
  return text === null ? [] : leavesOf(readData(text)).toSorted();
}
