import { z } from 'zod';
import { Digest } from '../../http/bodies/wire.ts';

const Keywords = z.array(Digest).max(50).default([]);

export const SearchDocuments = z
  .strictObject({
    /** Keyword hashes that a document must have. */
    all: Keywords,
    /** Keyword hashes of which it must have one. */
    any: Keywords,
  })
  .refine(({ all, any }) => all.length + any.length > 0, 'all or any must name a keyword');
