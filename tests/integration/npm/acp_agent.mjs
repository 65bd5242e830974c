// An agent on stdin and stdout without a model. It sends updates, asks for permission, and answers.
// The words of a prompt say what it does:
//   say:N     N updates         ask        a permission request  read   fs/read_text_file
//   wait:MS   a pause of MS ms  tool       begins a tool call    trace  the trace of the prompt
//   stop:WHY  ends the prompt with this reason
// A session/cancel ends the prompt. With --bare, messages have no "jsonrpc".
import readline from 'node:readline';

const bare = process.argv.includes('--bare');
const send = (message) => process.stdout.write(
  `${JSON.stringify(bare ? message : { jsonrpc: '2.0', ...message })}\n`);
const sessions = new Map();
const asked = new Map();
let lastId = 100;

const ask = (method, params) => new Promise((resolve) => {
  asked.set(++lastId, resolve);
  send({ id: lastId, method, params });
});
const update = (sessionId, text) => send({
  method: 'session/update',
  params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
});

async function prompt(session, text, meta) {
  session.cancelled = false;
  for (const word of text.split(' ')) {
    if (session.cancelled) break;
    const [what, count] = word.split(':');
    if (what === 'say') for (let i = 1; i <= Number(count); ++i) update(session.id, `${i}`);
    if (what === 'wait') await new Promise((resolve) => setTimeout(resolve, Number(count)));
    if (what === 'ask') {
      const answer = await ask('session/request_permission', {
        sessionId: session.id,
        toolCall: { toolCallId: 'call-1', title: 'Write a file' },
        options: [{ optionId: 'yes', name: 'Allow', kind: 'allow_once' }],
      });
      update(session.id, `permission ${answer.result?.outcome?.outcome ?? 'refused'}`);
    }
    if (what === 'tool') {
      send({
        method: 'session/update',
        params: { sessionId: session.id, update: { sessionUpdate: 'tool_call', toolCallId: 'call-1', title: 'Write a file' } },
      });
    }
    if (what === 'trace') update(session.id, meta?.traceparent ?? 'none');
    if (what === 'stop') return { stopReason: count };
    if (what === 'read') {
      const answer = await ask('fs/read_text_file', { sessionId: session.id, path: '/a' });
      update(session.id, `read ${answer.result?.content ?? answer.error?.message}`);
    }
  }
  return { stopReason: session.cancelled ? 'cancelled' : 'end_turn' };
}

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: 'test-agent', version: '1.2.3' },
    agentCapabilities: { loadSession: process.argv.includes('--loads') },
    authMethods: [],
  }),
  'session/new': () => {
    const session = { id: `sess-${process.pid}-${sessions.size + 1}` };
    sessions.set(session.id, session);
    return { sessionId: session.id };
  },
  'session/load': ({ sessionId }) => {
    sessions.set(sessionId, { id: sessionId });
    update(sessionId, 'loaded');
    return {};
  },
  'session/prompt': ({ sessionId, prompt: [{ text }], _meta }) => prompt(sessions.get(sessionId), text, _meta),
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (bare === (message.jsonrpc === '2.0') && message.method !== 'initialize') {
    process.stderr.write(`a message in the other form: ${line}\n`);
  }
  const { id, method, params } = message;
  if (method === 'session/cancel') sessions.get(params.sessionId).cancelled = true;
  if (method === undefined) asked.get(id)?.(message);
  if (method === undefined || id === undefined) continue;
  const handler = methods[method];
  if (!handler) send({ id, error: { code: -32601, message: `no method ${method}` } });
  else Promise.resolve(handler(params)).then((result) => send({ id, result }));
}
