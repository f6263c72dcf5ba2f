import { z } from 'zod';
import { Limit, Timestamp, Uuid } from '../http/bodies/wire.ts';

export const TokenPair = z.strictObject({
  accessToken: z.string(),
  tokenType: z.literal('Bearer'),
  expiresIn: z.int(),
  refreshToken: z.string(),
});

/**
 * A request with a refresh token. A token of at most 256 characters is refused with one error code,
 * whatever is wrong with the token.
 */
export const RefreshRequest = z.strictObject({ refreshToken: z.string().max(256) });

export const SessionId = z.strictObject({ id: Uuid });

export const SessionPage = z.strictObject({ limit: Limit, cursor: Uuid.optional() });

export const SessionView = z.strictObject({
  id: Uuid,
  /** Whether the request's access token belongs to this session. */
  current: z.boolean(),
  deviceId: Uuid.nullable(),
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  expiresAt: Timestamp,
});

export const SessionList = z.array(SessionView);
