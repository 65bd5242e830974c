// The official MCP conformance suite for servers of the revisions 2025-11-25 and 2026-07-28. The suite tests stdgate at
// /mcp, in front of a server with everything that the suite expects. No requirement of a revision may fail.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { Stdgate, program } from './stdgate_process.mjs';

const packages = new URL('node_modules/', import.meta.url).pathname;
const suite = join(packages, '@modelcontextprotocol/conformance');
// The suite and the server's library need a newer Node than the system may have.
const node = join(packages, `node-linux-${process.arch}/bin/node`);
const fixture = new URL('conformance_server.mjs', import.meta.url).pathname;

// The scenarios that a revision requires of servers: the first list in the suite's own file.
const requiredBy = (revision) => /^server:\n((?: {2}- .*\n)+)/m
  .exec(readFileSync(join(suite, `requirements/${revision}.yaml`), 'utf8'))[1]
  .trim().split(/\s*- /).filter(Boolean);

// Runs the suite against `url`, and returns its exit code and output.
function run(url, revision, folder) {
  const words = ['server', '--url', url, '--requirements', revision, '--output-dir', folder];
  return new Promise((resolve) => {
    execFile(node, [join(suite, 'dist/index.js'), ...words], { maxBuffer: 2 ** 24 },
      (error, stdout, stderr) => resolve({ code: error ? error.code : 0, output: stdout + stderr }));
  });
}

// The checks of each scenario. A folder's name is server-<scenario>-<time>.
function checksIn(folder) {
  return new Map(readdirSync(folder).map((name) => [
    /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(name)[1],
    JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')),
  ]));
}

// - `beyond`: scenarios that run but are not required: written later, or too much for the suite's own example.
// - `left`: scenarios that run and may fail: extensions, and features that stdgate does not have.
// - `warned`: required scenarios that pass with a warning.
// - `behind`: settings of the backend, which is then the only member of a virtual server.
// - `connected`: the suite tests a gateway whose server is `stdgate connect`, which reaches a second gateway.
// - `hurried`: the suite allows half a second per call, but here a call may start a process first. On a busy machine a
//   second try is allowed.
function conforms(title, { revision, scenarios, command, flags = ['--warm', '2'], behind, connected = false, beyond, left, warned = [], hurried = false }) {
  describe(title, { timeout: 120_000 }, () => {
    const required = requiredBy(revision);
    let gate;
    let remote;
    let code;
    let output;
    let checks;
    const start = async () => {
      gate = behind
        ? await Stdgate.serve([
          'listen: "127.0.0.1:0"', 'admin: "off"',
          `backends: { main: { command: ${JSON.stringify([node, ...command])}, ${behind} } }`,
          'servers: { one: { default: true, members: [{ backend: main, prefix: "" }] } }', '',
        ].join('\n'))
        : await Stdgate.startWith(flags, node, ...command);
      if (connected) {
        remote = gate;
        gate = await Stdgate.startWith(flags, program, 'connect', `${remote.url}/mcp`);
      }
    };
    const stop = async () => {
      for (const one of [gate, remote]) {
        if (one) assert.deepEqual(await one.stop(), { code: 0, signal: null, left: [] });
      }
    };
    before(async () => {
      for (let left = hurried ? 2 : 1; left > 0 && code !== 0; --left) {
        // Calls that wait for input keep their processes, so another try needs a new gateway.
        if (gate) await stop();
        await start();
        const folder = join(gate.folder, 'results');
        ({ code, output } = await run(`${gate.url}/mcp`, revision, folder));
        checks = checksIn(folder);
      }
    });
    after(stop);

    it(`requires ${scenarios} scenarios`, () => {
      assert.equal(required.length, scenarios);
      const run = [...checks.keys()].filter((scenario) => !left.test(scenario));
      assert.deepEqual(run.sort(), [...required, ...beyond].sort());
    });

    for (const scenario of [...required, ...beyond]) {
      it(scenario, () => {
        const made = checks.get(scenario);
        assert.ok(made.some(({ status }) => status === 'SUCCESS'), JSON.stringify(made));
        const unmet = made.filter(({ status }) => !['SUCCESS', 'INFO'].includes(status));
        if (!warned.includes(scenario)) return assert.deepEqual(unmet, []);
        assert.deepEqual(unmet.filter(({ status }) => status !== 'WARNING'), []);
        assert.notEqual(unmet.length, 0, 'no longer warned of');
      });
    }

    it('is content', () => assert.equal(code, 0, output));
  });
}

// The suite warns if no stream has a `retry`. The revision demands `retry` only before a stream is closed early, which
// the gateway does not do here. Clients for Java treat `retry` as an error.
const legacy = {
  revision: '2025-11-25',
  scenarios: 30,
  beyond: ['server-session-lifecycle', 'json-schema-2020-12', 'server-sse-polling'],
  left: /^$/,
  warned: ['server-sse-polling'],
};
conforms('the conformance suite, 2025-11-25', { ...legacy, command: [fixture] });
conforms('the conformance suite, 2025-11-25, of a server of both eras', { ...legacy, command: [fixture, 'both'] });
conforms('the conformance suite, 2025-11-25, of a modern server', {
  ...legacy,
  command: [fixture, 'modern'],
  flags: [],
});
conforms('the conformance suite, 2025-11-25, with connect between', { ...legacy, command: [fixture], connected: true });
const warm = 'pool: { warm: 2 }';
conforms('the conformance suite, 2025-11-25, of a virtual server', { ...legacy, command: [fixture], behind: warm });
conforms('the conformance suite, 2025-11-25, of a virtual server before one of both eras', {
  ...legacy, command: [fixture, 'both'], behind: warm,
});
conforms('the conformance suite, 2025-11-25, of a virtual server before a modern one', {
  ...legacy, command: [fixture, 'modern'], behind: 'pool: { warm: 0 }',
});
const modern = {
  revision: '2026-07-28',
  scenarios: 37,
  beyond: ['json-schema-2020-12', 'http-header-validation'],
  left: /^tasks-|^http-custom-header/,
};
conforms('the conformance suite, 2026-07-28, of a server of both eras', { ...modern, command: [fixture, 'both'] });
conforms('the conformance suite, 2026-07-28, of a modern server', { ...modern, command: [fixture, 'modern'] });
// The change in one process does not reach a client that listens at the other process, so a scenario warns.
conforms('the conformance suite, 2026-07-28, of a modern server in two processes', {
  ...modern, command: [fixture, 'modern'], warned: ['server-stateless'], flags: ['--isolation', 'shared', '--min', '2', '--max', '2'],
});

conforms('the conformance suite, 2026-07-28, with connect between', {
  ...modern, command: [fixture, 'modern'], connected: true,
});

// The server's tools ask by requests, one of them even if the client has not declared the capability. If each call has
// its own process, changes in one process do not reach a client that listens at another. A scenario warns of that (a
// SHOULD).
const asking = { ...modern, command: [fixture, 'asking'], warned: ['server-stateless'], hurried: true };
conforms('the conformance suite, 2026-07-28, of a legacy server', {
  ...asking, flags: ['--warm', '4', '--bridge', 'true'],
});
conforms('the conformance suite, 2026-07-28, of a virtual server before one of both eras', {
  ...modern, command: [fixture, 'both'], behind: warm,
});
conforms('the conformance suite, 2026-07-28, of a virtual server before a modern one', {
  ...modern, command: [fixture, 'modern'], behind: warm,
});
conforms('the conformance suite, 2026-07-28, of a virtual server before a legacy one', {
  ...asking, behind: 'pool: { warm: 4 }, bridge: true',
});
