// A minute of the soak test: no call is lost, no process is left, and memory and descriptors do not
// grow.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const soak = fileURLToPath(new URL('soak.mjs', import.meta.url));

test('a minute of clients that come and go while children die', { timeout: 180_000 }, async () => {
  // Without this option, a sanitizer build keeps freed memory, so its memory grows.
  const env = { ...process.env, ASAN_OPTIONS: 'quarantine_size_mb=1' };
  const run = spawn(process.execPath, [soak, '60', '50'], { env });
  let output = '';
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (bytes) => (output += bytes));
  const code = await new Promise((resolve) => run.on('close', resolve));
  assert.equal(code, 0, output);
});
