import { changesOf, type Kind, kinds, type RememberedChanges } from '../values/remembered.ts';

/** Maximum characters of the values in one report, so that its record is under 64 KiB. */
const maxCharacters = 32_768;

/**
 * Splits values into portions that fit into one report each. States that the user forgot are left
 * out: they say nothing that another device could compare.
 */
export function splitValues(values: RememberedChanges): RememberedChanges[] {
  const portions: RememberedChanges[] = [];
  let portion = changesOf({});
  let room = 0;
  const add = (kind: Kind, name: string, value: unknown) => {
    const length = name.length + JSON.stringify(value).length + 8;
    if (length > room) {
      portion = changesOf({});
      portions.push(portion);
      room = maxCharacters;
    }
    room -= length;
    Object.assign(portion[kind], { [name]: value });
  };
  for (const kind of kinds) {
    for (const [name, value] of Object.entries(values[kind])) {
      if (!('forgotten' in Object(value))) add(kind, name, value);
    }
  }
  return portions;
}
