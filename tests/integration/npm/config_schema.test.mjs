// `stdgate config schema` in a validator of JSON Schema 2020-12 and a parser of YAML: the schema and the program must
// agree about each file.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import Ajv2020 from 'ajv/dist/2020.js';
import YAML from 'yaml';

import { program } from './stdgate_process.mjs';

const root = new URL('../../../', import.meta.url);
const schema = JSON.parse(execFileSync(program, ['config', 'schema'], { encoding: 'utf8' }));
// Strict: an unknown keyword is an error. Union types are allowed, because scalars of YAML need them.
const validate = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true }).compile(schema);

const folder = mkdtempSync(join(tmpdir(), 'stdgate-schema-'));
const file = join(folder, 'gateway.yaml');
after(() => rmSync(folder, { recursive: true }));

// The certificate for configurations with TLS.
execFileSync('openssl', [
  'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
  '-subj', '/CN=localhost', '-keyout', join(folder, 'tls.key'), '-out', join(folder, 'tls.crt'),
], { stdio: 'ignore' });

// The key file for configurations of replicas.
writeFileSync(join(folder, 'sessions.key'), `${'7'.repeat(64)}\n`, { mode: 0o600 });
// The OpenRPC document of docs/checks.md.
writeFileSync(join(folder, 'sums.json'), '{"openrpc":"1.3.2","info":{"title":"sums","version":"1"},"methods":[]}');
const env = { ...process.env, HOSTNAME: 'gateway-0', KEY_FILE: 'sessions.key' };

function check(text) {
  writeFileSync(file, text);
  return spawnSync(program, ['check', '--config', file], { cwd: folder, env, encoding: 'utf8' });
}
const programTakes = (text) => {
  const { status, stderr } = check(text);
  assert.ok(status === 0 || stderr.startsWith(file), stderr); // an error that names the place in the file
  return status === 0;
};
const schemaTakes = (text) => validate(YAML.parse(text));

const filesOf = (path) =>
  readdirSync(new URL(path, root), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(new URL(path + entry.name, root), 'utf8'));

const backend = (keys) => `backends: { a: { command: [x], ${keys} } }\n`;
const gateway = (lines) => `${backend('')}${lines}\n`;

const good = [
  gateway(''),
  gateway('limits:\ntimeouts:\nlog:\nmetrics:'),
  gateway('listen: ":0"\nadmin: off\nanonymous: true'),
  gateway('listen: ["127.0.0.1:1", "unix:/run/x"]\nallowed_origins: ["*"]\nallowed_hosts: [a]'),
  gateway('listen: ["[::1]:1", { address: ":2", anonymous: true, tls: { certificate: tls.crt, key: [tls.key] } }]'),
  gateway('tls: { certificate: [tls.crt], key: tls.key, client_ca: tls.crt, client_certificate: optional }'),
  gateway(`auth: { api_keys: [{ name: a, hash: "sha256:${'0'.repeat(64)}", roles: [a], expires: 2027-06-30 }] }`),
  gateway('tls: { certificate: tls.crt, key: tls.key, client_ca: tls.crt }\nauth: { mtls: { roles: { "CN=*": [a] } } }'),
  gateway('tls: { certificate: tls.crt, key: tls.key, client_ca: tls.crt }\nauth: { mtls: }'),
  gateway('auth: { public_url: "https://a", scopes: [b], jwt: [{ issuer: "https://a" }] }'),
  gateway('auth: { public_url: "https://a", jwt: [{ issuer: a, audience: [b], jwks: { url: "https://a/b" } }] }'),
  gateway('admin: { address: ":1", roles: [ops] }'),
  gateway('admin: { address: ":1", tls: { certificate: tls.crt, key: tls.key } }'),
  gateway('limits: { message: 2048, headers: 2KiB, batch: "3", depth: "${NONE:-4}" }'),
  gateway('limits: { buffered: 1024GiB, replay: 0, connections: 1000000 }'),
  gateway('limits: { connections_per_address: 1, unlimited_addresses: ["10.1.0.0/16", "::1"] }'),
  gateway('limits: { session_starts: 0, session_burst: 1, min_rate: 0 }\ntimeouts: { request: 24h }'),
  gateway('rpc_stream: true\nallowed_hosts: ["*"]\nmetrics: { method_names: [a], tool_names: [] }'),
  gateway('timeouts: { drain: 0s, ping: "${NONE:-5s}", body: 250ms, idle: 1h, header: 2m }'),
  gateway('log: { level: off, format: json, calls: "${NONE:-true}", redact: [a, 1] }'),
  gateway('metrics: { buckets: [0.001, 1, 2.5e1, "30"], methods: 1 }'),
  backend('pool:, env:, rlimits:, sandbox:'),
  backend('sandbox: strict'),
  backend('bridge: auto'),
  backend('bridge: true'),
  backend('bridge: "${NONE:-false}"'),
  backend('sandbox: { filesystem: { read: /a, write: [b] }, network: { connect: [443], unix: true } }'),
  backend('sandbox: { filesystem:, network: "${NONE:-outbound}", required: false }'),
  backend('env: { A: 1, B: true, C: "${NONE:-}" }, env_inherit: [], cwd: /, user: nobody'),
  backend('env_file: /dev/null, env_inherit: ["!", PATH, "LC_*"]'),
  backend('env_file: [/dev/null, "/dev/null"]'),
  backend('rlimits: { address_space: 1MiB, cpu: 1s, open_files: 16, processes: 1 }'),
  backend('protocol: "${NONE:-lsp}", isolation: session, framing: newline, default: false'),
  backend('protocol: jsonrpc, cancel_method: "", timeout: 24h, expose_fault_details: true'),
  'backends: { a-b_9: { command: [sleep, 5, true, 1.5, ""] } }\n',
];

const bad = [
  backend('bridge: maybe'),
  backend('bridge: yes'),
  'backends: { a: { command: [x], sandbox: loose } }',
  'backends: { a: { command: [x], sandbox: { network: all } } }',
  'backends: { a: { command: [x], sandbox: { filesystem: { execute: [a] } } } }',
  '{}',
  'backends: {}',
  'backends:',
  'backends: { a: { } }',
  'backends: { a: { command: [] } }',
  'backends: { a: { command: x y } }',
  'backends: { A: { command: [x] } }',
  'backends: { mcp: { command: [x] } }',
  gateway('lisen: x'),
  gateway('listen: []'),
  gateway('listen: { a: b }'),
  gateway('listen: [{ a: b }]'),
  gateway('listen: [{ tls: { certificate: tls.crt, key: tls.key } }]'),
  gateway('listen: [{ address: ":1", tls: { certificate: tls.crt } }]'),
  gateway('tls: { certificate: tls.crt, key: tls.key, client_certificate: always }'),
  gateway('listen: [{ address: "127.0.0.1:1", roles: [a] }]'),
  gateway('admin: { address: "127.0.0.1:1", anonymous: true }'),
  gateway('auth: { api_keys: [] }'),
  gateway('auth: { api_keys: [{ hash: x }] }'),
  gateway('auth: { api_keys: [{ name: a, hsh: x }] }'),
  gateway('auth: { jwt: [{ audience: [a] }] }'),
  gateway('auth: { public_url: "https://a", jwt: [{ issuer: "https://a", jwks: { fil: a } }] }'),
  gateway('auth: { public_url: "https://a", jwt: [{ issuer: "https://a", jwks: a }] }'),
  gateway('auth: { signatures: [{ public_key: tls.crt }] }'),
  gateway('auth: { signatures: [{ key_id: a, algorithm: rsa, public_key: tls.crt }] }'),
  gateway('auth: { mtls: { roles: { a: b } } }'),
  gateway('limits: { message: 1MB }'),
  gateway('limits: { message: 1023 }'),
  gateway('limits: { batch: 100001 }'),
  gateway('limits: { batch: 1.5 }'),
  gateway('limits: { batch: [1] }'),
  gateway('limits: 5'),
  gateway('timeouts: { body: 60 }'),
  gateway('timeouts: { body: 60 s }'),
  gateway('log: { level: trace }'),
  gateway('log: { calls: yes }'),
  gateway('metrics: { buckets: [] }'),
  gateway('metrics: { buckets: [0] }'),
  gateway('metrics: { buckets: [86401] }'),
  backend('protocol: http'),
  backend('pool: { maxx: 1 }'),
  backend('pool: { max: 0 }'),
  backend('pool: { max: ten }'),
  backend('env: [A=1]'),
  backend('env_inherit: PATH'),
  backend('env_file: { a: b }'),
  gateway('limits: { session_burst: 0 }'),
  gateway('rpc_stream: 1'),
];

describe('the schema of the configuration', () => {
  it('takes what the program takes', () => {
    for (const text of good) {
      assert.ok(programTakes(text), text);
      assert.ok(schemaTakes(text), `${text}${JSON.stringify(validate.errors, null, 2)}`);
    }
  });

  it('refuses what the program refuses for its form', () => {
    for (const text of bad) {
      assert.ok(!programTakes(text), text);
      assert.ok(!schemaTakes(text), text);
    }
  });

  it('takes the sample file, what is printed of it, the examples, and those of the pages', () => {
    const sample = readFileSync(new URL('gateway.yaml', root), 'utf8');
    const printed = check(sample).stdout;
    const examples = filesOf('deploy/examples/').filter((text) => /^backends:/m.test(text));
    assert.ok(examples.length >= 2);
    const blocks = [readFileSync(new URL('README.md', root), 'utf8'), ...filesOf('docs/')].flatMap((page) =>
      [...page.matchAll(/```yaml\n([^]*?)```/g)].map((match) => match[1]),
    );
    assert.ok(blocks.length >= 2);
    for (const text of [sample, printed, ...examples, ...blocks]) {
      assert.ok(programTakes(text), text);
      assert.ok(schemaTakes(text), `${text}${JSON.stringify(validate.errors, null, 2)}`);
    }
  });
});
