import { isNewer } from './document-order.ts';
import { applyTo, createLayer, type Layer } from './layer.ts';
import { replacesObject } from './object-order.ts';
import type { RememberedChanges } from './remembered.ts';

/** A value that counts, and the device that told it; undefined if this device saw it. */
export interface Known<T> {
  readonly value: T;
  readonly toldBy?: string;
}

export type Layers = ReturnType<typeof createLayers>;

/** Creates the values by the device that saw them: this one, and those that told them. */
export function createLayers() {
  const own = createLayer();
  const told = new Map<string, Layer>();

  /** Returns the devices that were revoked, by what this one and those that count told. */
  function findRevoked(): Set<string> {
    const revoked = new Set(revokedIn(own.devices));
    for (const [writer, { devices }] of told) {
      if (!revoked.has(writer)) for (const id of revokedIn(devices)) revoked.add(id);
    }
    return revoked;
  }

  /** Returns the layers of the other devices, without those that were revoked. */
  function counting(): [string, Layer][] {
    const revoked = findRevoked();
    return [...told].filter(([writer]) => !revoked.has(writer));
  }

  return {
    /** The values that this device saw. */
    own,
    /** The values that each other device told. */
    told,
    counting,

    apply(seen: RememberedChanges, others: Readonly<Record<string, RememberedChanges>>): void {
      applyTo(own, seen);
      for (const [writer, values] of Object.entries(others)) {
        const layer = told.get(writer) ?? createLayer();
        told.set(writer, layer);
        applyTo(layer, newsFor(layer, values));
      }
    },

    /** Returns what this device saw, or else what another one told. */
    first<T>(find: (layer: Layer) => T | undefined): Known<T> | undefined {
      const seen = find(own);
      if (seen !== undefined) return { value: seen };
      for (const [toldBy, layer] of counting()) {
        const value = find(layer);
        if (value !== undefined) return { value, toldBy };
      }
      return undefined;
    },

    /** Returns whether a device was revoked, also by what was told just now. */
    isRevoked: (writer: string, now: Readonly<Record<string, RememberedChanges>> = {}): boolean =>
      findRevoked().has(writer) ||
      Object.values(now).some(({ devices }) => devices[writer] === 'revoked'),

    /**
     * Returns the number of the last report of a device that was lost, as the user accepted, also
     * by what was told just now; 0 if none was.
     */
    lostReports: (writer: string, now: Readonly<Record<string, RememberedChanges>> = {}): number =>
      Math.max(
        0,
        ...[own, ...counting().map(([, layer]) => layer)].map(({ lost }) => lost.get(writer) ?? 0),
        ...Object.values(now).map(({ lost }) => lost[writer] ?? 0),
      ),

    /** Returns the ids of the devices that the user registered, also of those revoked since. */
    devices: (): readonly string[] => {
      const known = new Set(own.devices.keys());
      for (const [, { devices }] of counting()) for (const id of devices.keys()) known.add(id);
      return [...known];
    },

    clear(): void {
      for (const values of Object.values(own)) values.clear();
      told.clear();
    },
  };
}

/** Returns what a device told, without states that are older than those that it told before. */
function newsFor(layer: Layer, values: RememberedChanges): RememberedChanges {
  const documents = Object.entries(values.documents).filter(([id, value]) =>
    isNewer(value, layer.documents.get(id)),
  );
  const objects = Object.entries(values.objects).filter(([id, value]) =>
    replacesObject(value, layer.objects.get(id)),
  );
  return {
    ...values,
    documents: Object.fromEntries(documents),
    objects: Object.fromEntries(objects),
  };
}

function revokedIn(devices: Layer['devices']): string[] {
  return [...devices].flatMap(([id, fate]) => (fate === 'revoked' ? [id] : []));
}
