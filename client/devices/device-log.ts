import { z } from 'zod';
import type { Http } from '../http/http.ts';
import { readPages } from '../http/pages.ts';
import { verifyProof } from '../proofs/proof.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { VaultError } from '../errors/vault-error.ts';

/** All else that the list says of an entry is read from the signed text. */
const EntryItem = z.object({ id: z.uuid(), resource: z.object({ id: z.string() }) });

const DeviceEntry = z.looseObject({
  action: z.string(),
  outcome: z.literal('success'),
  seq: z.int().positive(),
  resource: z.object({ type: z.literal('device'), id: z.guid(), owner: z.uuid() }),
});
type DeviceEntry = z.output<typeof DeviceEntry>;

export interface DeviceLogOptions {
  /** As for `verifyProof`: from elsewhere than the vault. */
  readonly trustedKeys: readonly string[];
  /** Ids of the devices, revoked ones too, that the user says are or were theirs. */
  readonly recognised: readonly string[];
}

export type DeviceFindingKind =
  /** A device, revoked or not, that is none of `recognised`. */
  | 'not_recognised'
  /** Listed or recognised, and the log has no registration of it. */
  | 'not_in_log'
  /** Registered and not revoked by the log, and not listed. */
  | 'not_listed'
  /** Revoked by the log, and listed. */
  | 'listed_though_revoked'
  /** Entries of the device are missing between others. */
  | 'entries_missing'
  /** An entry without a valid proof, or of another user. */
  | 'entry_invalid';

export interface DeviceFinding {
  readonly kind: DeviceFindingKind;
  readonly deviceId: string;
}

/**
 * Compares the devices that the vault lists, the signed audit entries of devices, and what the user
 * recognises. None found means that those three agree, not that there is no other device: a vault
 * that keeps a device and its whole log to itself, or the end of a log, is not found out. What is
 * added or revoked while this runs may be found, and not the next time.
 */
export async function checkDeviceLog(
  { http, proofs }: { http: Http; proofs: Pick<Proofs, 'get'> },
  listed: readonly { readonly deviceId: string }[],
  { trustedKeys, recognised }: DeviceLogOptions,
): Promise<DeviceFinding[]> {
  const findings: DeviceFinding[] = [];
  const entries = new Map<string, DeviceEntry[]>();
  const owners = new Set<string>();
  const query = { resourceType: 'device' };
  const request = { method: 'GET', path: '/v1/audit/entries', query } as const;
  for await (const { id, resource } of readPages(http, EntryItem, request)) {
    const entry = await findEntry(proofs, id, trustedKeys);
    if (entry !== undefined) owners.add(entry.resource.owner);
    if (entry === undefined || owners.size > 1) {
      findings.push({ kind: 'entry_invalid', deviceId: entry?.resource.id ?? resource.id });
    } else {
      const { id: deviceId } = entry.resource;
      entries.set(deviceId, [...(entries.get(deviceId) ?? []), entry]);
    }
  }

  const isListed = new Set(listed.map(({ deviceId }) => deviceId));
  const isRecognised = new Set(recognised.map((deviceId) => deviceId.toLowerCase()));
  for (const deviceId of new Set([...isRecognised, ...isListed, ...entries.keys()])) {
    const found = (kind: DeviceFindingKind) => findings.push({ kind, deviceId });
    if (!isRecognised.has(deviceId)) found('not_recognised');
    const log = entries.get(deviceId) ?? [];
    const actions = new Set(log.map(({ action }) => action));
    const isRevoked = actions.has('device.revoked');
    if (!actions.has('device.registered')) found('not_in_log');
    else if (isListed.has(deviceId) === isRevoked) {
      found(isRevoked ? 'listed_though_revoked' : 'not_listed');
    }
    if (!isGapless(log)) found('entries_missing');
  }
  return findings;
}

/** What an entry says that is proven; undefined for one that is not. */
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
