import { randomBytes } from 'node:crypto';
import { deriveSession, generateEphemeral } from 'secure-remote-password/server.js';
import * as srpClient from 'secure-remote-password/client.js';
import {
  createVerifierAndSalt,
  SRPClientSession,
  SRPParameters,
  SRPRoutines,
  SRPServerSession,
} from 'tssrp6a';
import { startSrpLogin } from '../../../client/srp/login.ts';
import { createRegistration } from '../../../client/accounts/registration.ts';
import { derivePasswordKey, srpAuthLabel } from '../../../client/login/password.ts';
import { generator, pad, prime } from '../../../app/srp/group.ts';
import type { Powers } from '../../../app/srp/powers.ts';
import { answerProof, createChallenge, parseClientPublic } from '../../../app/srp/srp.ts';
import type { CpuMeter } from './cpu-meter.ts';

/** One login of which the meter measures only the server's side. */
export type MeasuredLogin = (meter: CpuMeter) => Promise<void>;

const user = 'user@vault.test';
const password = 'correct horse battery staple';

/** Logs in with the product's own SRP: 3072-bit group, SHA3-256. */
export async function createOwnLogin(powers: Powers): Promise<MeasuredLogin> {
  const salt = new Uint8Array(randomBytes(32));
  const registration = await createRegistration(password, salt);
  const verifier = BigInt(`0x${registration.verifier}`);
  const authKey = await derivePasswordKey(password, salt, srpAuthLabel);
  return async (meter) => {
    const client = startSrpLogin();
    const session = await meter.run(() =>
      createChallenge(powers, parseClientPublic(client.A), verifier),
    );
    const B = pad(session.serverPublic).toString('hex');
    const proof = client.prove({ salt, B, authKey });
    const M2 = await meter.run(() =>
      answerProof(powers, session, verifier, Buffer.from(proof.M1, 'hex')),
    );
    proof.verifyServer(M2?.toString('hex') ?? '');
  };
}

/** Logs in with npm's secure-remote-password, which supports only a 2048-bit group, and SHA-256. */
export async function createSecureRemotePasswordLogin(): Promise<MeasuredLogin> {
  const salt = srpClient.generateSalt();
  const privateKey = srpClient.derivePrivateKey(salt, user, password);
  const verifier = srpClient.deriveVerifier(privateKey);
  return async (meter) => {
    const client = srpClient.generateEphemeral();
    const server = await meter.run(() => generateEphemeral(verifier));
    const session = srpClient.deriveSession(client.secret, server.public, salt, user, privateKey);
    const answer = await meter.run(() =>
      deriveSession(server.secret, client.public, salt, user, verifier, session.proof),
    );
    srpClient.verifySession(client.public, session, answer.proof);
  };
}

/** Logs in with npm's tssrp6a, configured with the product's 3072-bit group, and SHA-256. */
export async function createTssrp6aLogin(): Promise<MeasuredLogin> {
  const group = { N: prime, g: generator };
  const routines = new SRPRoutines(new SRPParameters(group, SRPParameters.H['SHA256']));
  const { s: salt, v: verifier } = await createVerifierAndSalt(routines, user, password);
  return async (meter) => {
    const client = await new SRPClientSession(routines).step1(user, password);
    const server = await meter.run(() =>
      new SRPServerSession(routines).step1(user, salt, verifier),
    );
    const proof = await client.step2(salt, server.B);
    await proof.step3(await meter.run(() => server.step2(proof.A, proof.M1)));
  };
}
