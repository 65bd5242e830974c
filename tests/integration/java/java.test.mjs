// The official client for Java, in each version in the file `versions`, built by tests/integration/java/install. This
// client is strict about the content of event streams.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { Stdgate, program, server as bin } from '../npm/stdgate_process.mjs';

const built = new URL('../../../build/java/', import.meta.url).pathname;
const versions = readFileSync(new URL('versions', import.meta.url), 'utf8').trim().split('\n');

// The client's output for these steps. `server`: a URL, or the words of a command.
async function run(version, server, steps) {
  const path = ['lib/*', 'classes'].map((part) => `${built}${version}/${part}`).join(':');
  const client = spawn('java', ['-cp', path, 'Steps', ...server], { stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  client.stdout.on('data', (bytes) => (output += bytes));
  client.stderr.on('data', (bytes) => (errors += bytes));
  client.stdin.end(`${steps.join('\n')}\n`);
  const code = await new Promise((resolve) => client.on('close', resolve));
  assert.equal(code, 0, errors);
  return output.trim().split('\n');
}

describe('the official client for Java', { timeout: 120_000 }, () => {
  for (const version of versions) {
    for (const [way, server] of [['/mcp', (url) => [url]], ['connect', (url) => [program, 'connect', url]]]) {
      it(`${version} calls tools, hears of progress and is asked (${way})`, async (t) => {
        assert.ok(existsSync(`${built}${version}/classes`), 'run tests/integration/java/install first');
        const gate = await Stdgate.startWith([], bin('mcp-server-everything'), 'stdio');
        t.after(async () => assert.deepEqual(await gate.stop(), { code: 0, signal: null, left: [] }));
        const lines = await run(version, server(`${gate.url}/mcp`), [
          'echo message=hi', 'trigger-long-running-operation duration=0.4 steps=4', 'trigger-sampling-request prompt=say',
          'trigger-elicitation-request', 'get-roots-list',
        ]);
        const isStep = (line) => line.startsWith('progress');
        assert.deepEqual(lines.filter(isStep), [1, 2, 3, 4].map((step) => `progress ${step}.0`));
        const answers = lines.filter((line) => !isStep(line));
        const expected = [/^Echo: hi$/, /completed.*Steps: 4/, /by ada/, /Name: by ada/, /of ada/];
        assert.equal(answers.length, expected.length, answers.join('\n'));
        expected.forEach((pattern, index) => assert.match(answers[index], pattern));
      });
    }
  }
});
