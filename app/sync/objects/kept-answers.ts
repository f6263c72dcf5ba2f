import { z } from 'zod';
import type { JsonObject } from '../../json/json-values.ts';
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
  toKept(answer: Answer): object;
  fromKept(kept: unknown, load: LoadVersion): Promise<Answer>;
}

const KeptCreated = ObjectView.omit({ data: true });

export const createdForm: KeptForm<ObjectText> = {
  toKept: ({ data: _data, ...kept }) => kept,
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

export const writtenForm: KeptForm<Written> = {
  toKept(answer) {
    if (answer.status === 'APPLIED') {
      const { data: _data, ...kept } = answer;
      return kept;
    }
    const { serverData, fields, ...kept } = answer;
    return { ...kept, fields: packFields(fields, serverData) };
  },
  async fromKept(answer, load) {
    const kept = KeptWritten.parse(answer);
    if (kept.status === 'APPLIED') {
      return { ...kept, data: await load(kept.objectId, kept.version) };
    }
    const text = await load(kept.objectId, kept.serverVersion);
    const serverData = text === null ? null : readData(text);
    return { ...kept, fields: unpackFields(kept.fields, serverData), serverData };
  },
};

function packFields(
  fields: readonly string[],
  data: JsonObject | null,
): z.output<typeof KeptFields> {
  const leaves = sortedLeaves(data);
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
  data: JsonObject | null,
): string[] {
  const bits = Buffer.from(leaves, 'base64');
  const isSet = (place: number) => ((bits.readUInt8(place >> 3) >> (place & 7)) & 1) === 1;
  return [...others, ...sortedLeaves(data).filter((_leaf, place) => isSet(place))].toSorted();
}

/** Returns the leaves in an order that does not depend on that of the members. */
function sortedLeaves(data: JsonObject | null): string[] {
  return data === null ? [] : leavesOf(data).toSorted();
}
