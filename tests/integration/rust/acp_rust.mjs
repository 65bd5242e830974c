// The official Rust SDK as client and as agent, over both transports. It is run by hand, because its build takes two
// and a half minutes of CPU time:
//   cargo build --manifest-path tests/integration/rust/Cargo.toml --target-dir build/rust
//   STDGATE=$PWD/build/release/bin/stdgate node tests/integration/rust/acp_rust.mjs build/rust/debug/acp-proof
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

import { Stdgate } from '../npm/stdgate_process.mjs';

const proof = resolve(process.argv[2]);
const scripted = new URL('../npm/acp_agent.mjs', import.meta.url).pathname;
const run = async (...words) => (await promisify(execFile)(proof, words, { timeout: 30_000 })).stdout.trim().split('\n');

for (const [name, command, prompt, expected] of [
  ['the scripted agent', [process.execPath, scripted], ['ask say:2'],
    ['asked 1', 'heard permission selected', 'heard 1', 'heard 2', 'stopped EndTurn']],
  ['the scripted agent, cancelled', [process.execPath, scripted], ['say:1 wait:500 say:1', 'cancel'],
    ['heard 1', 'stopped Cancelled']],
  ['the agent of the SDK', [proof, 'agent'], ['hello'], ['asked 1', 'heard chosen: yes', 'stopped EndTurn']],
]) {
  const gate = await Stdgate.startWith(['--protocol', 'acp'], ...command);
  for (const scheme of ['http', 'ws']) {
    assert.deepEqual(await run(gate.url.replace('http', scheme), ...prompt), expected, `${name} over ${scheme}`);
    console.log(`${scheme}: ${name}`);
  }
  assert.deepEqual(await gate.stop(), { code: 0, signal: null, left: [] });
}
