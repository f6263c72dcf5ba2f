import type { RememberedChanges } from './remembered.ts';

/** The values that one device saw, as they are held while the memory is open. */
export interface Layer {
  readonly documents: Map<string, RememberedChanges['documents'][string]>;
  readonly objects: Map<string, RememberedChanges['objects'][string]>;
  readonly people: Map<string, RememberedChanges['people'][string]>;
  readonly shares: Map<string, RememberedChanges['shares'][string]>;
  readonly given: Map<string, RememberedChanges['given'][string]>;
  readonly devices: Map<string, RememberedChanges['devices'][string]>;
  readonly vaultKeys: Map<string, string[]>;
  readonly lost: Map<string, number>;
}

export function createLayer(): Layer {
  return {
    documents: new Map(),
    objects: new Map(),
    people: new Map(),
    shares: new Map(),
    given: new Map(),
    devices: new Map(),
    vaultKeys: new Map(),
    lost: new Map(),
  };
}

/** Takes changes up, in place of what the layer has under the same names. */
export function applyTo(layer: Layer, changes: RememberedChanges): void {
  put(layer.documents, changes.documents);
  put(layer.objects, changes.objects);
  put(layer.people, changes.people);
  put(layer.shares, changes.shares);
  put(layer.given, changes.given);
  put(layer.devices, changes.devices);
  put(layer.vaultKeys, changes.vaultKeys);
  put(layer.lost, changes.lost);
}

/** Returns all values of a layer. */
export function changesIn(layer: Layer): RememberedChanges {
  return {
    documents: Object.fromEntries(layer.documents),
    objects: Object.fromEntries(layer.objects),
    people: Object.fromEntries(layer.people),
    shares: Object.fromEntries(layer.shares),
    given: Object.fromEntries(layer.given),
    devices: Object.fromEntries(layer.devices),
    vaultKeys: Object.fromEntries(layer.vaultKeys),
    lost: Object.fromEntries(layer.lost),
  };
}

function put<T>(kept: Map<string, T>, changes: Readonly<Record<string, T>>): void {
  for (const [name, value] of Object.entries(changes)) kept.set(name, value);
}
