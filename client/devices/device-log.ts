import { z } from 'zod';
import type { Http } from '../http/http.ts';
import { readEntries } from '../proofs/entries.ts';
import { verifyProof } from '../proofs/verify-proof.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { VaultError } from '../errors/vault-error.ts';

/**
 * An item of the vault's list of audit entries, of which only the ids are used: the signed text of
 * an entry contains everything else.
 */
const EntryItem = z.object({ id: z.uuid(), resource: z.object({ id: z.string() }) });

const DeviceEntry = z.looseObject({
  action: z.string(),
  outcome: z.literal('success'),
  seq: z.int().positive(),
  resource: z.object({ type: z.literal('device'), id: z.guid(), owner: z.uuid() }),
});
type DeviceEntry = z.output<typeof DeviceEntry>;

export interface DeviceLogOptions {
  /**
   * Fingerprints of trusted keys, as for `verifyProof`. Obtain them from a source other than the
   * vault.
   */
  readonly trustedKeys: readonly string[];
  /**
   * Ids of all devices, including revoked ones, that the user recognises as their own, such as
   * `Memory.devices` returns.
   */
  readonly recognised: readonly string[];
}

export type DeviceFindingKind =
  /** The id of the device, which may be revoked, is missing in `recognised`. */
  | 'not_recognised'
  /**
   * The vault lists the device or the user recognises it, but the audit log has no registration of
   * the device.
   */
  | 'not_in_log'
  /**
   * The audit log has the device's registration and no revocation, but the vault does not list the
   * device.
   */
  | 'not_listed'
  /** The audit log has the device's revocation, but the vault lists the device. */
  | 'listed_though_revoked'
  /** The sequence numbers of the device's audit entries have a gap. */
  | 'entries_missing'
  /** An audit entry about the device has no valid proof or belongs to another user. */
  | 'entry_invalid';

export interface DeviceFinding {
  readonly kind: DeviceFindingKind;
  readonly deviceId: string;
  /**
   * Months of the log that the vault says are archived outside of it, such as `2027-01`. What is
   * not in the log, or missing, may be in them: ask the vault's operator for their return, and
   * compare again. Undefined if there are none.
   */
  readonly archivedMonths?: readonly string[];
}

type Archived = Pick<DeviceFinding, 'archivedMonths'>;

/**
 * Compares the devices that the vault lists, the signed audit entries about devices, and the
 * devices that the user recognises. An empty result means that these three sources agree. It does
 * not prove that there is no other device: if the vault hides a device together with all of its
 * entries, or hides the last entries of a device, this is not detected. A device that is added or
 * revoked during the comparison may be reported although nothing is wrong.
 */
export async function checkDeviceLog(
  { http, proofs }: { readonly http: Http; readonly proofs: Pick<Proofs, 'get'> },
  listed: readonly { readonly deviceId: string }[],
  { trustedKeys, recognised }: DeviceLogOptions,
): Promise<DeviceFinding[]> {
  const findings: DeviceFinding[] = [];
  const entries = new Map<string, DeviceEntry[]>();
  const owners = new Set<string>();
  const archived = new Set<string>();
  const ofDevices = readEntries(http, EntryItem, { resourceType: 'device' }, (months) => {
    for (const month of months) archived.add(month);
  });
  for await (const { id, resource } of ofDevices) {
    const entry = await findEntry(proofs, id, trustedKeys);
    if (entry !== undefined) owners.add(entry.resource.owner);
    if (entry === undefined || owners.size > 1) {
      findings.push({ kind: 'entry_invalid', deviceId: entry?.resource.id ?? resource.id });
    } else {
      const { id: deviceId } = entry.resource;
      entries.set(deviceId, [...(entries.get(deviceId) ?? []), entry]);
    }
  }

  const away: Archived = archived.size > 0 ? { archivedMonths: [...archived] } : {};
  const isListed = new Set(listed.map(({ deviceId }) => deviceId));
  const isRecognised = new Set(recognised.map((deviceId) => deviceId.toLowerCase()));
  for (const deviceId of new Set([...isRecognised, ...isListed, ...entries.keys()])) {
    const found = (kind: DeviceFindingKind, more: Archived = {}) =>
      findings.push({ kind, deviceId, ...more });
    if (!isRecognised.has(deviceId)) found('not_recognised');
    const log = entries.get(deviceId) ?? [];
    const actions = new Set(log.map(({ action }) => action));
    const isRevoked = actions.has('device.revoked');
    if (!actions.has('device.registered')) found('not_in_log', away);
    else if (isListed.has(deviceId) === isRevoked) {
      found(isRevoked ? 'listed_though_revoked' : 'not_listed');
    }
    if (!isGapless(log)) found('entries_missing', away);
  }
  return findings;
}

/**
 * Fetches the audit entry with this id. Resolves with undefined if it has no valid proof or is not
 * an entry about a device.
 */
async function findEntry(
  proofs: Pick<Proofs, 'get'>,
  id: string,
  trustedKeys: readonly string[],
): Promise<DeviceEntry | undefined> {
  try {
    const proof = await proofs.get(id);
    if (!verifyProof(proof, { trustedKeys }).valid) return undefined;
    return DeviceEntry.safeParse(JSON.parse(proof.entryCanonical)).data;
  } catch (error) {
    if (error instanceof VaultError && error.status < 500) return undefined;
    throw error;
  }
}

function isGapless(log: readonly DeviceEntry[]): boolean {
  const seqs = log.map(({ seq }) => seq).sort((a, b) => a - b);
  return seqs.every((seq, index) => seq === index + 1);
}
