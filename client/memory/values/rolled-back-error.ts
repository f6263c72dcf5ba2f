import { ClientError } from '../../errors/client-error.ts';
import type { DocumentState } from './remembered.ts';

/**
 * The vault showed something older than what was seen before, or something else in its place. The
 * code is rolled_back. Tell the user: the vault was restored from a backup, or it lies.
 */
export class RolledBackError extends ClientError {
  readonly subject: 'document' | 'object' | 'share' | 'master_key' | 'memory';
  /**
   * The id of the document, the object, the share or the writer of records; undefined for the
   * master key, and if the list of all objects went back.
   */
  readonly id: string | undefined;
  /**
   * The fingerprint of the identity whose shares showed the document; undefined for a document of
   * the user's own.
   */
  readonly signer: string | undefined;
  /** Short texts for people of what was remembered, and of what the vault showed. */
  readonly remembered: string;
  readonly shown: string;
  /**
   * The id of the other device of the user that told what was remembered; undefined if this device
   * has seen it.
   */
  readonly toldBy: string | undefined;
  /**
   * The number of the report that was to be there, for `Memory.acceptReports`; undefined if it is
   * no report of a device that is missing.
   */
  readonly number: number | undefined;
  /** The state of a document that the vault showed, for `Memory.acceptDocument`. */
  readonly state: DocumentState | undefined;

  constructor({
    subject,
    id,
    signer,
    remembered,
    shown,
    toldBy,
    number,
    state,
  }: Pick<RolledBackError, 'subject' | 'remembered' | 'shown'> &
    Partial<Pick<RolledBackError, 'id' | 'signer' | 'toldBy' | 'number' | 'state'>>) {
    super('rolled_back');
    this.subject = subject;
    this.id = id;
    this.signer = signer;
    this.remembered = remembered;
    this.shown = shown;
    this.toldBy = toldBy;
    this.number = number;
    this.state = state;
  }
}
