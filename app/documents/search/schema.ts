import { z } from 'zod';
import { Digest } from '../../http/bodies/wire.ts';

const Keywords = z.array(Digest).max(50).default([]);

export const SearchDocuments = z
  .strictObject({
    all: Keywords.describe('Hashes of keywords, all of which a document must have: hex.'),
    any: Keywords.describe(
      'Hashes of keywords, at least one of which a document must have, unless the list is empty.',
    ),
  })
  .refine(({ all, any }) => all.length + any.length > 0, 'all or any must name a keyword')
  .meta({
    id: 'DocumentSearch',
    description: 'One of the lists must name a keyword.',
  });
