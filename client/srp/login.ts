import { bytesToHex, hexToBytes, randomBytes } from '@noble/hashes/utils.js';
import { equalBytes, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import {
  computePremasterSecret,
  computeProofs,
  computePublicValue,
  computeX,
  pad,
  serviceSrp,
  toInteger,
} from './srp.ts';

const ephemeralBytes = 32;

export interface SrpChallenge {
  readonly salt: Bytes;
  /** The server's public value, hex. */
  readonly B: string;
  /** K_auth, 32 bytes. */
  readonly authKey: Bytes;
}

/** The client's login proof, and the function that verifies the server's proof. */
export interface SrpProof {
  /** The client's proof, 64 hex digits. */
  readonly M1: string;
  /**
   * Throws server_proof_invalid unless M2, 64 hex digits, proves that the server knows the
   * verifier.
   */
  verifyServer(M2: string): void;
}

/** Starts the client's side of one SRP-6a login. Pass `ephemeral` in tests with vectors only. */
export function startSrpLogin(ephemeral: Bytes = randomBytes(ephemeralBytes)) {
  const a = toInteger(ephemeral);
  const A = computePublicValue(serviceSrp, a);

  return {
    /** The client's public value, 768 hex digits. */
    A: bytesToHex(pad(serviceSrp.group, A)),
    /**
     * Computes the login proof for a challenge. Throws invalid_public_value for a B that SRP
     * forbids.
     */
    prove({ salt, B: BHex, authKey }: SrpChallenge): SrpProof {
      const B = BigInt(`0x${BHex}`);
      const x = computeX(serviceSrp, salt, authKey);
      const S = computePremasterSecret(serviceSrp, { a, A, B, x });
      const { M1, M2 } = computeProofs(serviceSrp, { A, B, S });
      return {
        M1: bytesToHex(M1),
        verifyServer(received) {
          if (!equalBytes(hexToBytes(received), M2)) throw new ClientError('server_proof_invalid');
        },
      };
    },
  };
}
