// An agent on the official SDK. Each prompt asks for permission and reports the client's choice.
import { Readable, Writable } from 'node:stream';

import * as acp from '@agentclientprotocol/sdk';

acp.agent({ name: 'sdk-agent' })
  .onRequest(acp.methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name: 'sdk-agent', version: '1' },
    agentCapabilities: {},
  }))
  .onRequest(acp.methods.agent.session.new, () => ({ sessionId: `of-${process.pid}` }))
  .onRequest(acp.methods.agent.session.prompt, async ({ params: { sessionId }, client }) => {
    const { outcome } = await client.request(acp.methods.client.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId: 'call-1', title: 'Write a file' },
      options: [{ optionId: 'yes', name: 'Allow', kind: 'allow_once' }],
    });
    await client.notify(acp.methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: outcome.optionId ?? outcome.outcome } },
    });
    return { stopReason: outcome.outcome === 'cancelled' ? 'cancelled' : 'end_turn' };
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
