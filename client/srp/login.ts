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

export interface SrpLogin {
  /** 768 hex digits. */
  readonly A: string;
  /** Throws invalid_public_value for a B that SRP forbids. */
  prove(challenge: { salt: Bytes; B: string; authKey: Bytes }): SrpProof;
}

export interface SrpProof {
  /** 64 hex digits. */
  readonly M1: string;
  /** Throws server_proof_invalid unless the server has shown that it knows the verifier. */
  verifyServer(M2: string): void;
}

/** The client's side of one SRP-6a login. `ephemeral` is for test vectors only. */
export function startSrpLogin(ephemeral: Bytes = randomBytes(ephemeralBytes)): SrpLogin {
  const a = toInteger(ephemeral);
  const A = computePublicValue(serviceSrp, a);

  return {
    A: bytesToHex(pad(serviceSrp.group, A)),
    prove({ salt, B: BHex, authKey }) {
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
