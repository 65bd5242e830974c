// Agents whose backend is changed or removed by a reload. Their connections continue until
// timeouts.drain has passed, on both transports and for returning clients. After that they are
// unknown. Also binary frames.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { AcpHttp, AcpSocket } from './acp_client.mjs';
import { Stdgate, eventually } from './stdgate_process.mjs';

const agent = new URL('acp_agent.mjs', import.meta.url).pathname;
const cleanExit = { code: 0, signal: null, left: [] };
const config = (drain, ...agents) => [
  'listen: ["127.0.0.1:0"]',
  'admin: "off"',
  `timeouts: { drain: ${drain} }`,
  'backends:',
  '  calc: { command: [stdgate, demo-server], protocol: jsonrpc }',
  ...agents,
  '',
].join('\n');
const agentWith = (timeout) =>
  `  agent: { command: ["${process.execPath}", "${agent}"], protocol: acp, timeout: ${timeout}, pool: { grace: 1s } }`;

async function reload(gate, text) {
  const before = gate.log.split('configuration reloaded').length;
  writeFileSync(join(gate.folder, 'gateway.yaml'), text);
  gate.process.kill('SIGHUP');
  await eventually(() => gate.log.split('configuration reloaded').length > before, 'the reload');
}

const opened = async (gate) => {
  const client = new AcpHttp(gate.url);
  client.url = `${gate.url}/agent/acp`;
  await client.initialize();
  client.stream = await client.listen();
  const id = await client.ask('session/new', { cwd: '/', mcpServers: [] });
  client.session = (await client.stream.answer(id)).result.sessionId;
  return client;
};
const socketTo = (gate, headers = {}) => AcpSocket.connect(gate.url, { path: '/agent/acp', headers });
const answered = async (client) => {
  const stream = await client.listen(client.session);
  assert.equal(stream.status, 200);
  const prompt = await client.prompt(client.session, 'say:1');
  assert.equal((await stream.answer(prompt)).result.stopReason, 'end_turn');
};

for (const [what, next] of [['changes', [agentWith('5m')]], ['removes', []]]) {
  describe(`a reload that ${what} the backend`, { timeout: 60_000 }, () => {
    it('lets its connections go on, and those come back that are away', async (t) => {
      const gate = await Stdgate.serve(config('1m', agentWith('10m')));
      t.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
      const http = await opened(gate);
      const socket = await socketTo(gate);
      const session = await socket.begin();
      const away = await socketTo(gate);
      const other = await away.begin();
      const prompt = away.prompt(other, 'wait:500 say:2');
      await away.cut();
      await reload(gate, config('1m', ...next));
      await answered(http);
      await socket.answer(socket.prompt(session, 'say:1'));
      await socket.cut();
      const back = await socketTo(gate, { 'acp-connection-id': socket.id });
      await back.answer(back.prompt(session, 'say:1'));
      const again = await socketTo(gate, { 'acp-connection-id': away.id });
      assert.equal((await again.answer(prompt)).result.stopReason, 'end_turn');
      // Another reload: the connection is now two generations old.
      await reload(gate, config('1m', ...next, '  third: { command: [stdgate, demo-server], protocol: jsonrpc }'));
      await answered(http);
      assert.equal((await http.fetch('DELETE', { 'acp-connection-id': http.id })).status, 202);
      assert.equal((await http.post({ method: 'x' })).status, 404);
    });

    it('ends them when timeouts.drain has passed, and they are unknown', async (t) => {
      const gate = await Stdgate.serve(config('300ms', agentWith('10m')));
      t.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
      const http = await opened(gate);
      const socket = await socketTo(gate);
      await socket.begin();
      await reload(gate, config('300ms', ...next));
      await eventually(() => http.stream.ended, 'the end of the stream');
      assert.equal(await socket.closed, 1001);
      assert.equal((await http.post({ method: 'x' })).status, 404);
      await assert.rejects(socketTo(gate, { 'acp-connection-id': socket.id }), /status 404/);
      await eventually(() => gate.log.includes('retired backend has ended'), 'the end of the backend');
    });
  });
}

describe('a WebSocket', { timeout: 60_000 }, () => {
  it('ignores binary frames', async (t) => {
    const gate = await Stdgate.serve(config('1m', agentWith('10m')));
    t.after(async () => assert.deepEqual(await gate.stop(), cleanExit));
    const socket = await socketTo(gate);
    socket.socket.send(Buffer.from([0, 255, 1]));
    const session = await socket.begin();
    socket.socket.send(Buffer.from('{"jsonrpc":"2.0"'), { binary: true, fin: false });
    socket.socket.send(Buffer.from('}'), { binary: true, fin: true });
    await socket.answer(socket.prompt(session, 'say:1'));
    socket.socket.close();
  });
});
