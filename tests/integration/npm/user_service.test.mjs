// `stdgate install --user`: the units, and a gateway that starts with the first connection.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { Home, socket } from './home.mjs';
import { eventually, program } from './stdgate_process.mjs';

const echoServer = `
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    result = {}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "e", "version": "1"}}
    elif message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "here"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
`;

// A home with a systemctl that records its arguments. `fails`: systemctl also exits with 1.
function homeWithService(fails = false) {
  const home = new Home();
  const script = home.write('echo server.py', echoServer);
  home.write('.cursor/mcp.json', JSON.stringify({ mcpServers: { echo: { command: 'python3', args: [script] } } }));
  assert.equal(home.adopt('cursor').status, 0);
  home.write('bin/systemctl', `#!/bin/sh\necho "$@" >> ${home.path('asked')}\nexit ${fails ? 1 : 0}\n`, 0o755);
  home.env.PATH = `${home.path('bin')}:${home.env.PATH}`;
  return home;
}

const units = ['.config/systemd/user/stdgate.socket', '.config/systemd/user/stdgate.service'];

describe('stdgate install --user', () => {
  it('writes the units, enables the socket, and takes both away', () => {
    const home = homeWithService();
    const dry = home.run('install', '--user', '--dry-run');
    assert.equal(dry.status, 0, dry.err);
    assert.ok(!existsSync(home.path(units[0])));
    const installed = home.run('install', '--user');
    assert.equal(installed.status, 0, installed.err);
    for (const unit of units) assert.ok(dry.out.includes(home.read(unit)), dry.out);
    assert.equal(home.read('asked'),
      '--user daemon-reload\n--user enable --now stdgate.socket\n--user try-restart stdgate.service\n');
    assert.ok(home.read(units[0]).includes(`ListenStream=${socket(home)}\n`));
    assert.ok(home.read(units[1]).includes(`ExecStart="${program}" --config "${home.path('.config/stdgate/gateway.yaml')}"\n`));
    assert.ok(home.read(units[1]).includes(`Environment="PATH=${home.env.PATH}"\n`));
    const verified = spawnSync('systemd-analyze',
      ['verify', '--user', '--man=no', ...units.map((unit) => home.path(unit))], { encoding: 'utf8', env: home.env });
    if (!verified.error) {
      assert.deepEqual(verified.stderr.split('\n').filter((line) => /stdgate\.(socket|service)/.test(line)), []);
    }
    // Repeating the command succeeds.
    assert.equal(home.run('install', '--user').status, 0);

    const removed = home.run('install', '--user', '--uninstall');
    assert.equal(removed.status, 0, removed.err);
    for (const unit of units) assert.ok(!existsSync(home.path(unit)));
    assert.match(home.read('asked'), /disable --now stdgate\.socket stdgate\.service\n--user daemon-reload\n$/);
    assert.ok(existsSync(home.path('.config/stdgate/gateway.yaml')));
    assert.equal(home.run('install', '--user', '--uninstall').status, 1);
  });

  it('says what is left to do where systemd does not run, and what is missing', () => {
    const home = homeWithService(true);
    const { status, out, err } = home.run('install', '--user');
    assert.equal(status, 1);
    assert.match(out, /written .*stdgate\.socket/);
    assert.match(err, /systemctl --user daemon-reload has failed/);
    assert.match(err, /these do the rest:\n {2}systemctl --user daemon-reload\n {2}systemctl --user enable --now stdgate\.socket/);
    assert.equal(home.run('install').status, 2);
    const empty = new Home();
    const none = empty.run('install', '--user');
    assert.equal(none.status, 1);
    assert.match(none.err, /stdgate adopt CLIENT writes it/);
  });

  it('leaves the units of others alone', () => {
    const home = homeWithService();
    home.write(units[1], '[Service]\n');
    assert.match(home.run('install', '--user').err, /is another one's unit/);
    assert.equal(home.run('install', '--user', '--uninstall').status, 1);
    assert.equal(home.read(units[1]), '[Service]\n');
  });

  it('has a gateway that starts with the first connection', { timeout: 120_000 }, async (test) => {
    const home = homeWithService();
    assert.equal(home.run('install', '--user').status, 0);
    const unit = home.read(units[1]);
    const command = /^ExecStart="(.*)" --config "(.*)"$/m.exec(unit);
    const path = /^Environment="PATH=(.*)"$/m.exec(unit)[1];
    const listener = spawn('systemd-socket-activate', ['-l', socket(home), `--setenv=PATH=${path}`,
      `--setenv=HOME=${home.folder}`, command[1], '--config', command[2]],
    { env: home.env, cwd: home.folder, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    listener.stderr.on('data', (bytes) => (said += bytes));
    const missing = await new Promise((resolve) => {
      listener.once('error', resolve);
      listener.once('spawn', () => resolve(null));
    });
    if (missing) return test.skip('there is no systemd-socket-activate');
    const client = new Client({ name: 'first', version: '1' });
    try {
      await eventually(() => existsSync(socket(home)), 'the socket is there');
      assert.doesNotMatch(said, /started/);
      const { echo } = JSON.parse(home.read('.cursor/mcp.json')).mcpServers;
      await client.connect(new StdioClientTransport({ command: echo.command, args: echo.args, env: { PATH: path } }));
      const { content } = await client.callTool({ name: 'x' });
      assert.deepEqual(content, [{ type: 'text', text: 'here' }]);
      // systemd-socket-activate has executed the gateway, which uses the socket that was passed to
      // it.
      assert.equal(readFileSync(`/proc/${listener.pid}/cmdline`, 'utf8').split('\0')[0], program);
      assert.match(said, /started/);
    } finally {
      await client.close().catch(() => {});
      listener.kill('SIGTERM');
      await new Promise((resolve) => listener.once('exit', resolve));
    }
    // The socket belongs to the process that opened it, so the gateway does not remove the file.
    assert.ok(existsSync(socket(home)));
  });
});
