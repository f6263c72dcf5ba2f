import type { Readable } from 'node:stream';

/** A part to be sent. Part numbers start at 1; `size` is in bytes. */
export interface PartTarget {
  readonly key: string;
  readonly uploadId: string;
  readonly partNumber: number;
  readonly size: number;
}

export interface PutPartOptions {
  /** Cancels the transfer of the part. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with the body's SHA-256 (base64) once all of it was read, before its last bytes are
   * sent. An error that it throws cancels the part.
   */
  readonly beforeEnd?: ((sha256: string) => void) | undefined;
}

/** A part as the store acknowledged it. `etag` is opaque. */
export interface StoredPart {
  readonly partNumber: number;
  readonly etag: string;
}

/** A part that was just stored. `sha256` is the digest of its bytes in base64. */
export interface SentPart {
  readonly etag: string;
  readonly sha256: string;
}

/** Size in bytes, and an opaque version: other bytes under the same key have another version. */
export interface ObjectStat {
  readonly size: number;
  readonly version: string;
}

/** Offsets in bytes, both inclusive. Without `last` the range extends to the end. */
export interface ByteRange {
  readonly first: number;
  readonly last?: number | undefined;
}

export interface GetOptions {
  readonly range?: ByteRange | undefined;
  /** The version to read. If another one is stored, `get` throws version_changed. */
  readonly ifVersion?: string | undefined;
  /** Cancels the read, also while the body is streamed. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * An object that is open for reading; `size` is the size of the whole object. `body` holds a socket
 * or a file descriptor until it has been read to its end or is destroyed. It ends only after
 * exactly the requested bytes, all of this version. Otherwise it fails: with version_changed if the
 * bytes were replaced or removed meanwhile (a store may also deliver the old bytes to the end),
 * storage_unavailable, or the reason of the signal.
 */
export interface OpenObject extends ObjectStat {
  readonly body: Readable;
}

export interface OpenUpload {
  readonly key: string;
  readonly uploadId: string;
  readonly createdAt: Date;
}

export interface ListedObject {
  readonly key: string;
  readonly size: number;
  /** When the object was completed; on some servers, when its upload was opened. */
  readonly createdAt: Date;
}

/** The unused shares of a file system, from 0 to 1. */
export interface FreeSpace {
  /** The share of the bytes that a process without special rights can use. */
  readonly bytes: number;
  /** The share of the inodes; 1 on a file system without a fixed number of them. */
  readonly inodes: number;
}

/**
 * Stores objects that are uploaded in parts. A key is used for one object, once: callers MUST put a
 * fresh UUID into it. Every method throws StorageError; a retry can help only after
 * `storage_unavailable`, and after `storage_full`, which every method that writes may throw.
 * Implementations MUST NOT report something as not found because the store itself (its directory or
 * bucket) is missing: that is storage_unavailable.
 */
export interface ObjectStore {
  /** Opens an upload and returns its id. Throws invalid_key. */
  createMultipart(key: string): Promise<string>;

  /**
   * Streams exactly `size` bytes and resolves only once the part is durable. A body that fails,
   * ends early or is too long stores nothing. Sending a part number again replaces the part. `body`
   * is detached, never destroyed, so that its owner can still respond on the same connection.
   * Throws upload_not_found, body_incomplete, body_too_long, or the reason of `signal`; an error of
   * `beforeEnd` is thrown as it is or as the cause.
   */
  putPart(part: PartTarget, body: Readable, options?: PutPartOptions): Promise<SentPart>;

  /**
   * Publishes the object atomically, from these parts in the order of their numbers. Idempotent: a
   * retry after a lost response returns the same version. Throws upload_not_found, part_mismatch or
   * key_in_use.
   */
  completeMultipart(
    key: string,
    uploadId: string,
    parts: readonly StoredPart[],
  ): Promise<{ readonly version: string }>;

  /**
   * Returns the numbers of the parts that a completion would refuse because they are missing or
   * were replaced: a cancelled request may still arrive and overwrite the part of a later one.
   * Throws upload_not_found.
   */
  findLostParts(key: string, uploadId: string, parts: readonly StoredPart[]): Promise<number[]>;

  /** Removes an open upload and its parts. Does nothing for an unknown or completed upload. */
  abortMultipart(key: string, uploadId: string): Promise<void>;

  /** Resolves with undefined if no object is stored under the key. */
  stat(key: string): Promise<ObjectStat | undefined>;

  /**
   * Opens the object, or a range of it that is clipped to the object's size. Throws
   * object_not_found, version_changed, the reason of `signal`, or invalid_range if no byte is in
   * the range.
   */
  get(key: string, options?: GetOptions): Promise<OpenObject>;

  /**
   * Erases the object; in a versioned bucket, the given version or else the current one. Does
   * nothing if the object does not exist.
   */
  delete(key: string, version?: string): Promise<void>;

  /**
   * Lists uploads that are neither completed nor aborted, unordered and page by page. Callers may
   * abort them during the iteration.
   */
  listUploads(): AsyncIterable<OpenUpload>;

  /**
   * Lists objects whose keys begin with `prefix`, or all, unordered and page by page. Callers may
   * delete them during the iteration.
   */
  listObjects(prefix?: string): AsyncIterable<ListedObject>;

  /** Resolves if the store can be read. Throws storage_unavailable otherwise. */
  ping(): Promise<void>;

  /** Resolves with what is left of the store's file system; undefined if the store cannot tell. */
  freeSpace(): Promise<FreeSpace | undefined>;

  close(): Promise<void>;
}
