import type { Readable } from 'node:stream';

/** A part as it is being sent. Numbers start at 1; `size` is in bytes. */
export interface PartTarget {
  key: string;
  uploadId: string;
  partNumber: number;
  size: number;
}

export interface PutPartOptions {
  /** Gives the part up. */
  signal?: AbortSignal | undefined;
  /**
   * Called with the body's SHA-256 (base64) when all of it was read and before its last bytes leave: what it throws
   * refuses the part.
   */
  beforeEnd?: ((sha256: string) => void) | undefined;
}

/** A part as the store acknowledged it. `etag` is opaque. */
export interface StoredPart {
  partNumber: number;
  etag: string;
}

/** What was sent: `sha256` of its bytes, base64. */
export interface SentPart {
  etag: string;
  sha256: string;
}

/** `version` is opaque and identifies the stored bytes: other bytes under the same key have another version. */
export interface ObjectStat {
  size: number;
  version: string;
}

/** Offsets in bytes, both inclusive; without `last` up to the end. */
export interface ByteRange {
  first: number;
  last?: number | undefined;
}

export interface GetOptions {
  range?: ByteRange | undefined;
  /** This version or none. */
  ifVersion?: string | undefined;
  /** Gives the object up, also while its bytes flow. */
  signal?: AbortSignal | undefined;
}

/**
 * An object that is being read; `size` is that of the whole. `body` holds a socket or a descriptor until it is read to
 * its end or destroyed. It ends only after exactly the bytes asked for, all of this version, and otherwise fails:
 * version_changed when they were replaced or removed meanwhile (a store may also go on with the old ones),
 * storage_unavailable, or the reason of the signal.
 */
export interface OpenObject extends ObjectStat {
  body: Readable;
}

export interface OpenUpload {
  key: string;
  uploadId: string;
  createdAt: Date;
}

export interface ListedObject {
  key: string;
  size: number;
  /** When the object was completed; with some servers when its upload was opened. */
  createdAt: Date;
}

/**
 * Objects made of parts. A key is used for one object, once: callers put a fresh UUID into it.
 * Every method throws StorageError; `storage_unavailable` is worth another try. Nothing is "not found" because the store
 * itself, a directory or a bucket, is missing: that is storage_unavailable.
 */
export interface ObjectStore {
  /** Opens an upload and returns its id. Throws invalid_key. */
  createMultipart(key: string): Promise<string>;

  /**
   * Streams exactly `size` bytes and resolves only once the part is durable. A body that breaks, ends early or goes on
   * leaves nothing behind. The same part number again replaces the part. `body` is never destroyed, only let go:
   * its owner may still want to answer.
   * Throws upload_not_found, body_incomplete, body_too_long, or the reason of `signal`; what `beforeEnd` throws is
   * the error itself or its cause.
   */
  putPart(part: PartTarget, body: Readable, options?: PutPartOptions): Promise<SentPart>;

  /**
   * Publishes the object at once or not at all, from these parts in the order of their numbers. A repeat after a lost
   * answer returns the same version. Throws upload_not_found, part_mismatch, key_in_use.
   */
  completeMultipart(
    key: string,
    uploadId: string,
    parts: readonly StoredPart[],
  ): Promise<{ version: string }>;

  /**
   * The numbers of those parts that a completion would refuse, as they are missing or were replaced: a request that was
   * given up may still arrive and overwrite the part of a later one. Throws upload_not_found.
   */
  findLostParts(key: string, uploadId: string, parts: readonly StoredPart[]): Promise<number[]>;

  /** Removes an open upload and its parts. An unknown or completed upload is no error and stays as it is. */
  abortMultipart(key: string, uploadId: string): Promise<void>;

  stat(key: string): Promise<ObjectStat | undefined>;

  /**
   * Opens the object, or a range of it, of which what lies beyond the last byte is left out.
   * Throws object_not_found, version_changed, the reason of `signal`, and invalid_range when nothing is in the range.
   */
  get(key: string, options?: GetOptions): Promise<OpenObject>;

  /** Erases the object, in a versioned bucket the version given or else the current one. A missing object is no error. */
  delete(key: string, version?: string): Promise<void>;

  /** Uploads neither completed nor aborted, in no particular order, read page by page. They may be aborted meanwhile. */
  listUploads(): AsyncIterable<OpenUpload>;

  /**
   * Stored objects whose keys begin with `prefix`, or all, in no particular order, read page by page. They may be
   * deleted meanwhile.
   */
  listObjects(prefix?: string): AsyncIterable<ListedObject>;

  /** Resolves when the store can be used. */
  ping(): Promise<void>;

  close(): Promise<void>;
}
