import type { RekeyList } from '../../keys/keyring.ts';
import type { Recollection } from '../values/recollection.ts';
import type { StoredChanges } from '../values/remembered.ts';
import type { ReportKey } from './report-key.ts';

/** The side of the memory that the exchange with the user's other devices uses. */
export interface ExchangedMemory {
  /** The values that are remembered, to read. */
  readonly recollection: Recollection;
  /** Returns the key of reports under the present master key. */
  reportKey(): ReportKey;
  /** Returns the list of the documents that were there at the last rekey. */
  list(): RekeyList | undefined;
  /** Remembers what the exchange brought. */
  keep(changes: Partial<StoredChanges>): Promise<void>;
}

/** The exchange of what is remembered with the user's other devices. */
export interface MemoryExchange {
  /**
   * Reads what the other devices told since the last time. Throws RolledBackError for reports that
   * are invalid, or are missing between others or before what another device has read.
   */
  read(memory: ExchangedMemory): Promise<void>;
  /**
   * Reads what the other devices told, and tells them what this device has seen since the last
   * time. Tells nothing in a session that is bound to no device. Throws what `read` throws.
   */
  exchange(memory: ExchangedMemory): Promise<void>;
  /**
   * Reads and tells everything anew the next time, since the user accepts that the vault was
   * restored: it may have lost reports.
   */
  restart(memory: ExchangedMemory): Promise<void>;
}
