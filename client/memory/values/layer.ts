import { changesOf, kinds, type Kind, type RememberedChanges } from './remembered.ts';

/** The values that one device saw, by kind and name, as they are held while the memory is open. */
export type Layer = {
  readonly [K in Kind]: Map<string, RememberedChanges[K][string]>;
};

export function createLayer(): Layer {
  const empty = Object.fromEntries(kinds.map((kind) => [kind, new Map()]));
  return empty as unknown as Layer;
}

/** Takes changes up, in place of what the layer has under the same names. */
export function applyTo(layer: Layer, changes: RememberedChanges): void {
  for (const kind of kinds) {
    const kept: Map<string, unknown> = layer[kind];
    for (const [name, value] of Object.entries(changes[kind])) kept.set(name, value);
  }
}

/** Returns all values of a layer. */
export function changesIn(layer: Layer): RememberedChanges {
  return changesOf(
    Object.fromEntries(kinds.map((kind) => [kind, Object.fromEntries<unknown>(layer[kind])])),
  );
}
