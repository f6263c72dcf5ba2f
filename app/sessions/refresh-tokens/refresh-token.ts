import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { parse as parseUuid, stringify } from 'uuid';
import type { LabelledKeys } from '../../signing-keys/labelled-keys.ts';

/** The content of a refresh token whose MAC was verified. */
export interface PresentedToken {
  /** The login session for which the token was issued. */
  readonly sessionId: string;
  /** The number of the token among those of its session, from 1 on. */
  readonly generation: number;
  /** The SHA-256 of the token's text. */
  readonly hash: Buffer;
}

interface IssuedToken {
  readonly refreshToken: string;
  readonly hash: Buffer;
}

const lifetimeMs = 30 * 86_400_000;
const sessionBytes = 16;
const generationBytes = 4;
const secretBytes = 24;
const macBytes = 16;
const bodyBytes = sessionBytes + generationBytes + secretBytes;
/** A multiple of 3 bytes leaves no unused bits in base64url, so that a token has one text. */
const tokenText = /^prt_([A-Za-z0-9_-]{80})$/;

/**
 * Returns the time when a refresh token that is issued at `now` expires. Its login session expires
 * at the same time unless the session is refreshed.
 */
export function refreshTokenExpiry(now: Date): Date {
  return new Date(now.getTime() + lifetimeMs);
}

export type RefreshTokens = ReturnType<typeof createRefreshTokens>;

/**
 * Creates the service that makes and reads refresh tokens: the prefix `prt_`, by which scanners for
 * leaked secrets recognise it, and in base64url the session's id (16 bytes), the generation (4
 * bytes), 24 random bytes, and 16 bytes of the HMAC-SHA-256 of all these (docs/adr/0032). Its
 * methods throw signer_unavailable before the HSM's key was fetched.
 */
export function createRefreshTokens({ keys }: { readonly keys: Pick<LabelledKeys, 'get'> }) {
  function macOf(body: Buffer): Buffer {
    const mac = createHmac('sha256', keys.get('refresh-token')).update(body).digest();
    return mac.subarray(0, macBytes);
  }

  return {
    /** Issues a token of a login session. Only its hash may be stored. */
    issue(sessionId: string, generation: number): IssuedToken {
      const number = Buffer.alloc(generationBytes);
      number.writeUInt32BE(generation);
      const body = Buffer.concat([parseUuid(sessionId), number, randomBytes(secretBytes)]);
      const refreshToken = `prt_${Buffer.concat([body, macOf(body)]).toString('base64url')}`;
      return { refreshToken, hash: hashOf(refreshToken) };
    },

    /** Parses a token. Returns undefined if this vault never issued it. */
    parse(refreshToken: string): PresentedToken | undefined {
      const [, text] = tokenText.exec(refreshToken) ?? [];
      if (text === undefined) return undefined;
      const bytes = Buffer.from(text, 'base64url');
      const body = bytes.subarray(0, bodyBytes);
      if (!timingSafeEqual(bytes.subarray(bodyBytes), macOf(body))) return undefined;
      return {
        sessionId: stringify(body.subarray(0, sessionBytes)),
        generation: body.readUInt32BE(sessionBytes),
        hash: hashOf(refreshToken),
      };
    },
  };
}

/** One round of SHA-256 is enough, since the tokens are long and random. */
function hashOf(refreshToken: string): Buffer {
  return createHash('sha256').update(refreshToken).digest();
}
