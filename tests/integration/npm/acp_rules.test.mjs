// Requests and notifications of agents, on both transports: rules withhold them from clients, the audit records them,
// metrics count them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { AcpHttp, AcpSocket } from './acp_client.mjs';
import { Stdgate, eventually } from './stdgate_process.mjs';

const agent = new URL('acp_agent.mjs', import.meta.url).pathname;
const cleanExit = { code: 0, signal: null, left: [] };
const keyOf = (name) => `the-long-key-of-${name}`;
const hash = (name) => `sha256:${createHash('sha256').update(keyOf(name)).digest('hex')}`;
const bearer = (name) => ({ authorization: `Bearer ${keyOf(name)}` });

const config = `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
audit: { file: audit.jsonl }
traces: { endpoint: "http://127.0.0.1:9" }
backends:
  agent:
    command: ["${process.execPath}", "${agent}"]
    protocol: acp
    pool: { grace: 1s }
    rules:
      - { allow: [developer], methods: ["*"], from_agent: ["*"] }
      - { allow: ["*"], methods: ["session/*"], from_agent: ["session/*"], except: ["session/request_permission"] }
auth:
  api_keys:
    - { name: anna, roles: [developer], hash: "${hash('anna')}" }
    - { name: bert, hash: "${hash('bert')}" }
`;

const isAsk = ({ method, id }) => method !== undefined && id !== undefined;
const texts = (messages) => messages
  .filter(({ params }) => params?.update?.content)
  .map(({ params }) => params.update.content.text);

// A client of each transport with a session, its prompts, and the messages that it gets.
const transports = {
  WebSocket: async (gate, name) => {
    const client = await AcpSocket.connect(gate.url, { headers: bearer(name) });
    const session = await client.begin();
    return {
      session,
      prompt: (text) => client.answer(client.prompt(session, text)),
      heard: () => client.messages,
      say: (message) => client.send(message),
      end: () => client.socket.close(),
    };
  },
  HTTP: async (gate, name) => {
    const client = new AcpHttp(gate.url, bearer(name));
    const greeting = await client.initialize();
    assert.equal((await greeting.json()).result.connectionId, client.id);
    client.stream = await client.listen();
    const created = await client.stream.answer(await client.ask('session/new', { cwd: '/', mcpServers: [] }));
    const session = created.result.sessionId;
    const stream = await client.listen(session);
    return {
      session,
      prompt: async (text) => stream.answer(await client.prompt(session, text)),
      heard: () => [...client.stream.events, ...stream.events].map(({ message }) => message),
      // Answers without the id of the session, as the official Python client does.
      say: async (message) => assert.equal((await client.post(message)).status, 202),
      end: () => client.fetch('DELETE', { 'acp-connection-id': client.id }),
    };
  },
};

for (const [transport, open] of Object.entries(transports)) {
  describe(`what an agent asks over ${transport}`, { timeout: 60_000 }, () => {
    let gate;
    before(async () => { gate = await Stdgate.serve(config); });
    after(async () => assert.deepEqual(await gate.stop(), cleanExit));

    const lines = () => readFileSync(join(gate.folder, 'audit.jsonl'), 'utf8')
      .split('\n').filter(Boolean).map((line) => JSON.parse(line));
    const line = (matches, what) => eventually(() => lines().find(matches), what);
    const metric = async (name) => {
      const text = await (await fetch(`${gate.adminUrl}/metrics`)).text();
      return text.split('\n').find((one) => one.startsWith(`${name} `))?.split(' ').at(-1);
    };
    const question = (end, method = 'session/request_permission') =>
      metric(`stdgate_question_duration_seconds_count{backend="agent",end="${end}",method="${method}"}`);

    it('never reaches a client that rules keep it from', async () => {
      const client = await open(gate, 'bert');
      const answer = await client.prompt('say:1 ask read say:1');
      assert.equal(answer.result.stopReason, 'end_turn');
      await eventually(() => texts(client.heard()).length >= 4, 'all updates');
      assert.deepEqual(texts(client.heard()), ['1', 'permission refused', 'read Method not found', '1']);
      assert.deepEqual(client.heard().filter(isAsk), []);
      for (const method of ['session/request_permission', 'fs/read_text_file']) {
        const denied = await line((one) => one.event === 'asked' && one.method === method, method);
        assert.equal(denied.outcome, 'denied');
        assert.equal(denied.principal, 'bert');
        assert.equal(denied.acp_session, client.session);
      }
      assert.equal(await metric('stdgate_rejected_total{backend="agent",reason="denied"}'), '2');
      await client.end();
    });

    it('is in the audit, and counted, until it is answered', async () => {
      const client = await open(gate, 'anna');
      const prompt = client.prompt('tool ask');
      const asked = await eventually(() => client.heard().find(isAsk), 'the permission request');
      assert.equal(await metric('stdgate_questions_open{backend="agent"}'), '1');
      await client.say({ id: asked.id, result: { outcome: { outcome: 'selected', optionId: 'yes' } } });
      assert.equal((await prompt).result.stopReason, 'end_turn');
      const answered = await line(({ outcome }) => outcome === 'answered', 'the line of the question');
      assert.equal(answered.event, 'asked');
      assert.equal(answered.method, 'session/request_permission');
      assert.equal(answered.title, 'Write a file');
      assert.equal(answered.option, 'yes');
      assert.equal(answered.principal, 'anna');
      assert.ok(answered.duration_ms > 0);
      const told = await line(({ event }) => event === 'told', 'the line of the tool call');
      assert.equal(told.title, 'Write a file');
      assert.equal(told.acp_session, client.session);
      const called = await line((one) => one.method === 'session/prompt' && one.acp_session === client.session, 'the call');
      assert.equal(called.event, 'call');
      assert.equal(await metric('stdgate_questions_open{backend="agent"}'), '0');
      assert.equal(await question('answered'), '1');
      await client.end();
    });

    it('ends as refused, or as left by its client', async () => {
      const client = await open(gate, 'anna');
      const prompt = client.prompt('read ask');
      const read = await eventually(() => client.heard().find(isAsk), 'fs/read_text_file');
      await client.say({ id: read.id, error: { code: -32000, message: 'no' } });
      await eventually(() => client.heard().filter(isAsk).length === 2, 'the permission request');
      assert.equal(await question('refused', 'fs/read_text_file'), '1');
      prompt.catch(() => {}); // fails when its client leaves
      if (transport === 'HTTP') {
        await client.end();
        await line(({ event, outcome }) => event === 'asked' && outcome === 'left', 'the end of the question');
        assert.equal(await question('left'), '1');
        assert.equal(await metric('stdgate_questions_open{backend="agent"}'), '0');
      } else {
        await client.end(); // the agent lingers with its open question
        assert.equal(await metric('stdgate_questions_open{backend="agent"}'), '1');
      }
    });

    it('has the stop reasons of prompts as outcomes', async () => {
      const client = await open(gate, 'anna');
      for (const reason of ['refusal', 'max_tokens', 'max_turn_requests', 'cancelled', 'end_turn']) {
        assert.equal((await client.prompt(`stop:${reason}`)).result.stopReason, reason);
        const outcome = reason === 'end_turn' ? 'ok' : reason;
        await line((one) => one.method === 'session/prompt' && one.outcome === outcome, reason);
      }
      await client.end();
    });

    it('has the trace of the prompt', async () => {
      const client = await open(gate, 'anna');
      await client.prompt('trace');
      await eventually(() => texts(client.heard()).length === 1, 'the trace');
      assert.match(texts(client.heard())[0], /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
      await client.end();
    });
  });
}
