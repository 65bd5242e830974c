// Half a minute with servers that leak: each limit replaces some of them, and no call fails.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const leak = fileURLToPath(new URL('leak.mjs', import.meta.url));

test('half a minute of servers that leak and are replaced', { timeout: 120_000 }, async () => {
  // Without this option, a sanitizer build keeps freed memory, so its memory grows.
  const env = { ...process.env, ASAN_OPTIONS: 'quarantine_size_mb=1' };
  const run = spawn(process.execPath, [leak, '30'], { env });
  let output = '';
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (bytes) => (output += bytes));
  const code = await new Promise((resolve) => run.on('close', resolve));
  assert.equal(code, 0, output);
});
