// `stdgate adopt`: changes clients' configuration files, puts them back, and gathers the servers
// behind one gateway.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { describe, it } from 'node:test';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

import { Home, socket } from './home.mjs';
import { eventually, program } from './stdgate_process.mjs';

const connected = (home, name) => ['connect', name, '--unix', socket(home)];

// A typical file of each client, with a server, and with settings that must not change.
const files = {
  'claude-desktop': ['.config/Claude/claude_desktop_config.json',
    '{\n  "globalShortcut": "",\n  "mcpServers": {\n    "Notes": { "command": "cat", "args": ["-u"], '
    + '"env": { "API_TOKEN": "ghp_0123456789abcdefghij0123456789abcdef" } },\n'
    + '    "far": { "url": "https://far.example/mcp" }\n  }\n}\n'],
  'claude-code': ['.claude.json',
    '{"numStartups":41,"mcpServers":{"Notes":{"type":"stdio","command":"cat","args":["${NONE:--u}"],"env":{}}},'
    + '"projects":{"/p":{"mcpServers":{"x":{"command":"cat"}}}}}'],
  cursor: ['.cursor/mcp.json', '{\r\n\t"mcpServers": {\r\n\t\t"Notes": {\r\n\t\t\t"command": "cat"\r\n\t\t}\r\n\t}\r\n}\r\n'],
  vscode: ['.config/Code/User/mcp.json',
    '// mine\n{\n  "servers": {\n    "Notes": { // "command"\n      "type": "stdio",\n      "command": "cat",\n'
    + '      "args": ["${userHome}/notes",],\n    },\n    "asks": { "command": "cat", "args": ["${input:key}"] },\n'
    + '  },\n  "inputs": [{ "id": "key" }],\n}\n'],
  zed: ['.config/zed/settings.json',
    '// Zed settings\n{\n  "theme": "One Dark", /* dark */\n  "context_servers": {\n    "Notes": {\n'
    + '      "command": "cat",\n      "args": [],\n      "env": { "A": "1" },\n    },\n  },\n}\n'],
  gemini: ['.gemini/settings.json',
    '{ "ui": {}, "mcpServers": { "Notes": { "command": "cat", "args": ["$HOME"], "trust": true } } }'],
  codex: ['.codex/config.toml',
    '# mine\nmodel = "m" # the best\n\n[mcp_servers.Notes]\ncommand = "cat"\nargs = ["-u"]\nstartup_timeout_sec = 20\n\n'
    + '[mcp_servers.Notes.env]\nAPI_TOKEN = "ghp_0123456789abcdefghij0123456789abcdef"\n\n[tui]\nx = 1\n'],
};

describe('stdgate adopt', () => {
  for (const [client, [name, text]] of Object.entries(files)) {
    it(`changes the file of ${client}, and puts it back byte for byte`, () => {
      const home = new Home();
      home.write(name, text, 0o640);
      const dry = home.adopt(client, '--dry-run');
      assert.equal(dry.status, 0, dry.err);
      assert.match(dry.out, /Notes: would be reached by stdgate connect notes --unix/);
      assert.doesNotMatch(dry.out + dry.err, /ghp_/);
      assert.equal(home.read(name), text);
      assert.ok(!existsSync(home.path('.config/stdgate')));

      const adopted = home.adopt(client);
      assert.equal(adopted.status, 0, adopted.err);
      assert.doesNotMatch(adopted.out + adopted.err, /ghp_/);
      const now = home.read(name);
      assert.ok(now.includes(JSON.stringify(program)), now);
      assert.ok(now.includes(JSON.stringify(connected(home, 'notes')).replaceAll(',', ', ')), now);
      assert.doesNotMatch(now, /ghp_/);
      assert.equal(statSync(home.path(name)).mode & 0o777, 0o640);
      assert.equal(statSync(home.path('.config/stdgate/gateway.yaml')).mode & 0o777, 0o600);
      assert.equal(statSync(home.path('.config/stdgate')).mode & 0o777, 0o700);
      for (const kept of readdirSync(home.path('.config/stdgate/adopted'))) {
        assert.equal(statSync(home.path(`.config/stdgate/adopted/${kept}`)).mode & 0o777, 0o600);
      }
      assert.equal(home.run('check', '--config', home.path('.config/stdgate/gateway.yaml')).status, 0);

      const again = home.adopt(client);
      assert.equal(again.status, 0, again.err);
      assert.match(again.out, /nothing to adopt/);
      assert.equal(home.read(name), now);

      const undone = home.adopt(client, '--undo');
      assert.equal(undone.status, 0, undone.err);
      assert.match(undone.out, /put back as it was/);
      assert.equal(home.read(name), text);
      assert.equal(statSync(home.path(name)).mode & 0o777, 0o640);
      assert.deepEqual(readdirSync(home.path('.config/stdgate/adopted')), []);
      assert.match(undone.out, /gateway\.yaml: removed, as it was not there before/);
      assert.ok(!existsSync(home.path('.config/stdgate/gateway.yaml')));
      assert.equal(home.adopt(client, '--undo').status, 1);
    });
  }

  it('names what it leaves alone, and why', () => {
    const home = new Home();
    home.write(...files['claude-desktop']);
    home.write(...files['claude-code']);
    home.write(...files.vscode);
    assert.match(home.adopt('claude-desktop').err, /far: left out, as it is reached by URL already/);
    assert.match(home.adopt('claude-code').err, /the servers of \/p/);
    assert.match(home.adopt('vscode').err, /asks: left out, as only its client knows \$\{input:key\}/);
    home.write('.cursor/mcp.json', JSON.stringify({ mcpServers: {
      here: { command: './server' }, none: { command: 'no-such-program' }, off: { command: 'cat', disabled: true },
      unset: { command: 'cat', args: ['${env:NOT_SET}'] },
    } }));
    const { status, out, err } = home.adopt('cursor');
    assert.equal(status, 0);
    assert.match(out, /nothing to adopt/);
    assert.match(err, /here: left out, as its command depends on the folder/);
    assert.match(err, /none: left out, as its command would not start/);
    assert.match(err, /off: left out, as it is disabled/);
    assert.match(err, /unset: left out, as its variable NOT_SET is not set here/);
  });

  it('has one backend for one server of several clients, and two for two of one name', () => {
    const home = new Home();
    const one = { command: 'cat', args: ['-u'], env: { A: '$x' } };
    home.write('.cursor/mcp.json', JSON.stringify({ mcpServers: { notes: one } }));
    home.write('.gemini/settings.json', JSON.stringify({ mcpServers: { Mine: { ...one, env: { A: '$B' } } } }));
    home.write('.config/zed/settings.json', JSON.stringify({ context_servers: { notes: { command: 'cat' } } }));
    home.env.B = '$x';
    for (const client of ['cursor', 'gemini', 'zed']) assert.equal(home.adopt(client).status, 0);
    assert.ok(home.read('.gemini/settings.json').includes('"notes"'));
    assert.ok(home.read('.config/zed/settings.json').includes('"notes-zed"'));
    assert.equal(home.gateway.match(/command:/g).length, 2);
  });

  it('takes all servers at once whose names are one in a path, or none, and a byte order mark', () => {
    const home = new Home();
    const text = JSON.stringify({ mcpServers: Object.fromEntries(
      ['a', 'A', 'b c', 'b-c', '天気', 'ノート'].map((name) => [name, { command: 'cat', env: { NAME: name } }])) });
    home.write('.cursor/mcp.json', text);
    const { status, err } = home.adopt('cursor');
    assert.equal(status, 0);
    assert.equal(err, '');
    assert.equal(home.gateway.match(/command:/g).length, 6);
    for (const backend of ['a-cursor', 'b-c-cursor', 'server', 'server-cursor']) {
      assert.ok(home.read('.cursor/mcp.json').includes(`"connect", "${backend}"`), backend);
    }
    assert.match(home.adopt('cursor').out, /nothing to adopt/);
    assert.equal(home.adopt('cursor', '--undo').status, 0);
    assert.equal(home.read('.cursor/mcp.json'), text);

    const [name, toml] = files.codex;
    home.write(name, `\ufeff${toml}`);
    const codex = home.adopt('codex');
    assert.equal(codex.status, 0, codex.err);
    assert.ok(home.read(name).startsWith('\ufeff'));
    assert.equal(home.adopt('codex', '--undo').status, 0);
    assert.equal(home.read(name), `\ufeff${toml}`);
  });

  it('keeps what was changed since when it is undone', () => {
    const home = new Home();
    const [name, text] = files.codex;
    home.write(name, text);
    assert.equal(home.adopt('codex').status, 0);
    home.write(name, `${home.read(name)}\n[mcp_servers.late]\ncommand = "cat"\n`);
    assert.equal(home.adopt('codex').status, 0);
    assert.ok(home.read(name).includes('"late"'));
    home.write(name, `# later\n${home.read(name)}`);
    const undone = home.adopt('codex', '--undo');
    assert.equal(undone.status, 0, undone.err);
    assert.match(undone.out, /but for what was changed in it since/);
    assert.equal(home.read(name), `# later\n${text}\n[mcp_servers.late]\ncommand = "cat"\n`);
  });

  describe("puts the gateway's file back", () => {
    const cursor = '.cursor/mcp.json';
    const gemini = '.gemini/settings.json';
    const of = (...servers) => JSON.stringify({ mcpServers:
      Object.fromEntries(servers.map((name) => [name, { command: 'cat', env: { NAME: name } }])) });
    const own = 'listen: ["unix:stdgate.sock"]  # mine\nbackends:\n  old: { command: [cat] }\n';
    // Adopts two clients in this order.
    const adopted = (first, second) => {
      const home = new Home();
      home.write('.config/stdgate/gateway.yaml', own);
      home.write(cursor, first);
      home.write(gemini, second);
      for (const client of ['cursor', 'gemini']) assert.equal(home.adopt(client).status, 0);
      return home;
    };
    const undo = (home, client) => {
      const { status, out, err } = home.adopt(client, '--undo');
      assert.equal(status, 0, err);
      return out;
    };

    it('when the last client goes, whichever that is', () => {
      for (const order of [['cursor', 'gemini'], ['gemini', 'cursor']]) {
        for (const second of [of('a'), of('b')]) {
          const home = adopted(of('a'), second);
          undo(home, order[0]);
          assert.match(home.gateway, /NAME/);
          assert.match(undo(home, order[1]), /gateway\.yaml: put back as it was/);
          assert.equal(home.gateway, own);
        }
      }
    });

    it('as far as the last adoption, if nobody uses what it has added', () => {
      const home = adopted(of('a'), of('b'));
      undo(home, 'gemini');
      assert.match(home.gateway, /NAME: "a"/);
      assert.doesNotMatch(home.gateway, /NAME: "b"/);
    });

    it('not while another client may use it', () => {
      const home = adopted(of('a'), of('a'));
      const before = home.gateway;
      assert.match(undo(home, 'cursor'), /where they may be in use/);
      assert.equal(home.gateway, before);
    });

    it('not while the client has a server of another name there', () => {
      const home = adopted(of('a', 'z'), of('b'));
      undo(home, 'gemini');
      const before = home.gateway;
      home.write(cursor, home.read(cursor).replace('"a":', '"renamed":'));
      const { out, err } = home.adopt('cursor', '--undo');
      assert.match(err, /renamed: stays as it is/);
      assert.match(out, /its servers stay in/);
      assert.equal(home.gateway, before);
      const { renamed, z } = JSON.parse(home.read(cursor)).mcpServers;
      assert.equal(renamed.args[0], 'connect');
      assert.deepEqual(z, { command: 'cat', env: { NAME: 'z' } });
    });

    it('to before the first of several adoptions of one client', () => {
      const home = adopted(of('a'), of('a'));
      undo(home, 'gemini');
      const text = JSON.parse(home.read(cursor));
      text.mcpServers.late = { command: 'cat', env: { NAME: 'late' } };
      home.write(cursor, JSON.stringify(text));
      assert.equal(home.adopt('cursor').status, 0);
      assert.match(home.gateway, /NAME: "late"/);
      undo(home, 'cursor');
      assert.equal(home.gateway, own);
    });

    it('not if it was changed since', () => {
      const home = adopted(of('a'), of('b'));
      home.write('.config/stdgate/gateway.yaml', `# changed\n${home.gateway}`);
      assert.match(undo(home, 'gemini'), /which was changed since/);
      assert.match(undo(home, 'cursor'), /which was changed since/);
      assert.match(home.gateway, /# changed[^]*NAME: "b"/);
    });

    it('or says what it would do', () => {
      const home = adopted(of('a'), of('b'));
      const before = home.gateway;
      const dry = home.adopt('gemini', '--undo', '--dry-run');
      assert.match(dry.out, /gateway\.yaml: would be put back as it was/);
      assert.equal(home.gateway, before);
    });
  });

  it('follows a link, and says what is wrong with other files', () => {
    const home = new Home();
    const [name, text] = files.cursor;
    mkdirSync(home.path('.cursor'));
    const real = home.write('dotfiles/mcp.json', text);
    symlinkSync('../dotfiles/mcp.json', home.path(name));
    const adopted = home.adopt('cursor');
    assert.equal(adopted.status, 0, adopted.err);
    assert.ok(adopted.out.includes(`is a link; what changes is ${real}`), adopted.out);
    assert.ok(lstatSync(home.path(name)).isSymbolicLink());
    assert.notEqual(readFileSync(real, 'utf8'), text);
    assert.equal(home.adopt('cursor', '--undo').status, 0);
    assert.equal(readFileSync(real, 'utf8'), text);
    rmSync(real);
    const nowhere = home.adopt('cursor');
    assert.equal(nowhere.status, 1);
    assert.match(nowhere.err, /is a link to nowhere/);

    for (const [content, why] of [['', /it has no servers/], ['{"mcpServers": {"a": {"command": "cat"}', /it is no JSON/],
      ['{"theme": 1}', /it has none of mcpServers/]]) {
      const broken = home.write('.gemini/settings.json', content);
      const { status, err } = home.adopt('gemini');
      assert.equal(status, 1);
      assert.match(err, why);
      assert.ok(err.includes(broken), err);
      assert.equal(readFileSync(broken, 'utf8'), content);
    }
    const missing = home.adopt('zed');
    assert.equal(missing.status, 1);
    assert.match(missing.err, /Zed has no settings at .*zed\/settings\.json; --file names another place/);
    assert.equal(home.adopt('emacs').status, 2);
    assert.match(home.adopt('emacs').err, /claude-desktop, claude-code, cursor, vscode, zed, gemini, codex/);
    assert.ok(!existsSync(home.path('.config/stdgate/gateway.yaml')) || home.gateway);
  });

  it('adds to a gateway that the person has, and wants a Unix socket of it', () => {
    const home = new Home();
    home.write(...files.cursor);
    const own = 'listen: ["127.0.0.1:0"]  # mine\nbackends:\n  old:\n    command: ["cat"]  # stays\n    protocol: jsonrpc\n';
    home.write('.config/stdgate/gateway.yaml', own);
    const refused = home.adopt('cursor');
    assert.equal(refused.status, 1);
    assert.match(refused.err, /listens on no Unix socket; add "unix:.*stdgate\.sock" to its listen/);
    assert.equal(home.gateway, own);
    home.write('.config/stdgate/gateway.yaml', own.replace('0"]', '0", "unix:/tmp/x.sock"]'));
    assert.equal(home.adopt('cursor').status, 0);
    assert.ok(home.gateway.includes('command: ["cat"]  # stays'));
    assert.ok(home.read('.cursor/mcp.json').includes('"/tmp/x.sock"'));
    home.write('.config/stdgate/gateway.yaml', 'backends: [');
    assert.match(home.adopt('cursor').err, /has mistakes/);
  });
});

// A server that tells how many clients have greeted its process, and its arguments and variables.
const countingServer = `
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method = message["method"]
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": sys.argv[1], "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        text = "%s %d %s" % (sys.argv[1], os.getpid(), os.environ.get("API_TOKEN", ""))
        result = {"content": [{"type": "text", "text": text}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
`;

describe('adopted servers', () => {
  it('are six processes for twenty clients', { timeout: 240_000 }, async () => {
    const home = new Home();
    const script = home.write('counting.py', countingServer);
    const mcpServers = {};
    for (let i = 0; i < 6; ++i) {
      mcpServers[`server ${i}`] = { command: 'python3', args: [script, `${i}`], env: { API_TOKEN: `secret-${i}` } };
    }
    home.write('.config/Claude/claude_desktop_config.json', JSON.stringify({ mcpServers }));
    assert.equal(home.adopt('claude-desktop').status, 0);
    const settings = JSON.parse(home.read('.config/Claude/claude_desktop_config.json'));

    const gateway = spawn(program, ['--config', home.path('.config/stdgate/gateway.yaml')],
      { env: home.env, cwd: home.folder, stdio: ['ignore', 'ignore', 'inherit'] });
    const clients = [];
    try {
      await eventually(() => existsSync(socket(home)), 'the gateway listens');
      const pids = new Set();
      const person = async (ordinal) => {
        for (const { command, args } of Object.values(settings.mcpServers)) {
          const client = new Client({ name: `client ${ordinal}`, version: '1' });
          clients.push(client);
          await client.connect(new StdioClientTransport({ command, args, env: { PATH: process.env.PATH } }));
          const { content: [{ text }] } = await client.callTool({ name: 'who' });
          const [server, pid, token] = text.split(' ');
          assert.equal(token, `secret-${server}`);
          pids.add(pid);
        }
      };
      await Promise.all(Array.from({ length: 20 }, (_, i) => person(i)));
      assert.equal(clients.length, 120);
      assert.equal(pids.size, 6);
      const running = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
        try {
const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
          return /python3[.\d]*$/.test(words[0]) && words[1] === script;
        } catch {
          return false;
        }
      });
      assert.equal(running.length, 6);
    } finally {
      await Promise.all(clients.map((client) => client.close().catch(() => {})));
      gateway.kill('SIGTERM');
      await new Promise((resolve) => gateway.once('exit', resolve));
    }
  });
});
