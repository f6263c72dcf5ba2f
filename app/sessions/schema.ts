import { z } from 'zod';
import { Limit, Timestamp, Uuid, UuidCursor } from '../http/bodies/wire.ts';

export const TokenPair = z
  .strictObject({
    accessToken: z.string().describe('JWT for the header Authorization.'),
    tokenType: z.literal('Bearer').describe('Scheme of the header Authorization.'),
    expiresIn: z.int().min(1).describe('Seconds until the access token expires.'),
    refreshToken: z.string().describe('Opaque token for the next pair; valid once, for 30 days.'),
  })
  .meta({ id: 'TokenPair' });

/**
 * A request with a refresh token. A token of at most 256 characters is refused with one error code,
 * whatever is wrong with the token.
 */
export const RefreshRequest = z
  .strictObject({
    refreshToken: z.string().max(256).describe('The refresh token of the newest pair.'),
  })
  .meta({ id: 'TokenRefresh' });

export const SessionId = z.strictObject({ id: Uuid.describe('Id of a login session.') });

export const SessionPage = z.strictObject({ limit: Limit, cursor: UuidCursor });

export const SessionView = z
  .strictObject({
    id: Uuid.describe('Id of the login session; the `sid` of its access tokens.'),
    current: z.boolean().describe('Whether the request’s access token belongs to this session.'),
    deviceId: Uuid.nullable().describe('The device to which the session is bound.'),
    createdAt: Timestamp.describe('When the user logged in.'),
    lastUsedAt: Timestamp.describe('When tokens were last issued.'),
    expiresAt: Timestamp.describe('End of the session unless it is refreshed before.'),
  })
  .meta({ id: 'LoginSession' });

export const SessionList = z.array(SessionView);
