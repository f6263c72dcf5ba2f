import { ClientError } from '../errors/client-error.ts';

/**
 * The vault showed something older than what this device has seen, or something else in its place.
 * The code is rolled_back. Tell the user: the vault was restored from a backup, or it lies.
 */
export class RolledBackError extends ClientError {
  readonly subject: 'document' | 'share' | 'master_key';
  /** The id of the document or the share; undefined for the master key. */
  readonly id: string | undefined;
  /** Short texts for people of what was remembered, and of what the vault showed. */
  readonly remembered: string;
  readonly shown: string;

  constructor({
    subject,
    id,
    remembered,
    shown,
  }: Pick<RolledBackError, 'subject' | 'remembered' | 'shown'> & { readonly id?: string }) {
    super('rolled_back');
    this.subject = subject;
    this.id = id;
    this.remembered = remembered;
    this.shown = shown;
  }
}
