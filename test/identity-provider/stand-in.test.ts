import test from 'ava';
import { startStandIn, type StandIn } from '../../app/dev/identity-provider/stand-in.ts';
import { alice, bob, testProviderContract } from './provider-contract.ts';

let standIn: StandIn;

test.before(async () => {
  standIn = await startStandIn({ port: 0, users: [alice, bob] });
});

test.after.always(() => standIn?.stop());

testProviderContract(() => standIn.url);
