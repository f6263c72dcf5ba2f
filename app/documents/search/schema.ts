import { z } from 'zod';
import { Digest } from '../../http/bodies/wire.ts';

const Keywords = z.array(Digest).max(50).default([]);

export const SearchDocuments = z
  .strictObject({
    /** Keyword hashes which a document must all have. */
    all: Keywords,
    /** Keyword hashes of which a document must have at least one, unless the list is empty. */
    any: Keywords,
  })
  .refine(({ all, any }) => all.length + any.length > 0, 'all or any must name a keyword');
