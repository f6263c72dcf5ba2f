import { mayRead, mayWrite } from '../../documents/records/access.ts';
import { linkNextPage } from '../../http/responses/next-page.ts';
import { listBytes } from '../../http/responses/page.ts';
import { routeFor } from '../../http/routing/route.ts';
import type { SenderBlocks } from './blocks.ts';
import { BlockedSender, BlockedSenderList, BlockedSenderPage, SenderId } from './schema.ts';

const tag = 'Sharing';
const path = '/v1/documents/shared/blocked-senders';

const route = routeFor<{ readonly senderBlocks: SenderBlocks }>();

export const senderBlockRoutes = [
  route({
    method: 'get',
    path,
    operation: 'listBlockedSenders',
    aliases: [`/api${path}`],
    tag,
    summary: 'Lists the senders whom the caller blocks',
    access: mayRead,
    query: BlockedSenderPage,
    status: 200,
    response: BlockedSenderList,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ senderBlocks }, { request, query, reply }) => {
      const { senders, cursor } = await senderBlocks.list(request, query);
      linkNextPage(reply, query, cursor);
      return senders;
    },
  }),
  route({
    method: 'put',
    path: `${path}/:senderId`,
    operation: 'blockSender',
    aliases: [`/api${path}/:senderId`],
    tag,
    summary: 'Blocks a sender: the caller sees nothing that this user shares',
    access: mayWrite,
    params: SenderId,
    status: 200,
    response: BlockedSender,
    errors: ['quota_exceeded', 'audit_backlog_full'],
    audit: { actions: ['sender.blocked'] },
    handler: ({ senderBlocks }, { request, params }) =>
      senderBlocks.block(request, params.senderId),
  }),
  route({
    method: 'delete',
    path: `${path}/:senderId`,
    operation: 'unblockSender',
    aliases: [`/api${path}/:senderId`],
    tag,
    summary: 'Unblocks a sender',
    access: mayWrite,
    params: SenderId,
    status: 204,
    response: undefined,
    errors: ['not_found', 'audit_backlog_full'],
    audit: { actions: ['sender.unblocked'] },
    handler: ({ senderBlocks }, { request, params }) =>
      senderBlocks.unblock(request, params.senderId),
  }),
];
