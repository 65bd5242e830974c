// The authorization of MCP from end to end: the official client, a real authorization server, and a
// tool that needs more scopes than the first token has.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

import { Stdgate, server } from './stdgate_process.mjs';
import { TcpProxy } from './tcp_proxy.mjs';

const isTooOld = Number(process.versions.node.split('.')[0]) < 20;
const { AuthorizationServer, browse } = isTooOld ? {} : await import('./authorization_server.mjs');

const callback = 'http://127.0.0.1:9/callback';

// The data that an application stores for a user, and the user's browser.
class Application {
  visits = []; // the scopes of each visit
  redirectUrl = callback;
  clientMetadata = {
    client_name: 'oauth.test',
    redirect_uris: [callback],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };

  clientInformation() { return this.information; }
  saveClientInformation(information) { this.information = information; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  saveDiscoveryState(state) { this.discovered = state; }
  discoveryState() { return this.discovered; }

  async redirectToAuthorization(url) {
    assert.equal(url.searchParams.get('code_challenge_method'), 'S256');
    this.visits.push(url.searchParams.get('scope'));
    this.answer = await browse(url, callback);
  }

  claims() {
    return JSON.parse(Buffer.from(this.saved.access_token.split('.')[1], 'base64url'));
  }
}

describe('authorization', { timeout: 60_000, skip: isTooOld && 'oidc-provider wants a newer Node.js' }, () => {
  let as;
  let proxy;
  let gate;
  let application;
  before(async () => {
    as = await AuthorizationServer.start({ scopes: 'mcp:use mcp:sum' });
    proxy = await TcpProxy.to('http://127.0.0.1:9');
    gate = await Stdgate.serve(`
      listen: "127.0.0.1:0"
      admin: "off"
      log: { level: info }
      auth:
        public_url: "${proxy.url}"
        scopes: ["mcp:use"]
        jwt: [{ issuer: "${as.issuer}" }]
      backends:
        everything:
          command: [${server('mcp-server-everything')}, stdio]
          protocol: mcp
          rules:
            - { allow: ["*"], tools: [echo], scopes: ["mcp:use"] }
            - { allow: ["*"], tools: [get-sum], scopes: ["mcp:use", "mcp:sum"] }
            - { allow: ["*"], methods: ["*"], except: ["tools/call"] }
    `);
    proxy.leadTo(gate.url);
    application = new Application();
  });
  after(async () => {
    await proxy?.close();
    const end = await gate?.stop();
    await as?.stop();
    assert.deepEqual(end, { code: 0, signal: null, left: [] });
  });

  const open = () => ({
    client: new Client({ name: 'oauth.test', version: '1' }),
    transport: new StreamableHTTPClientTransport(new URL(`${proxy.url}/mcp`), {
      authProvider: application,
    }),
  });
  const call = async (client, name, args) =>
    (await client.callTool({ name, arguments: args })).content[0].text;

  it('leads from a 401 to a token, and from a 403 to a larger one', async () => {
    const first = open();
    await assert.rejects(first.client.connect(first.transport), UnauthorizedError);
    await first.transport.finishAuth(application.answer);
    assert.ok(as.requests.includes('/reg'), 'the client has registered itself');
    assert.equal(application.claims().aud, `${proxy.url}/mcp`);
    assert.equal(application.claims().scope, 'mcp:use');

    const { client, transport } = open();
    await client.connect(transport);
    assert.equal(await call(client, 'echo', { message: 'hello' }), 'Echo: hello');

    await assert.rejects(call(client, 'get-sum', { a: 1, b: 2 }), UnauthorizedError);
    await transport.finishAuth(application.answer);
    assert.deepEqual(application.claims().scope.split(' ').sort(), ['mcp:sum', 'mcp:use']);
    assert.match(await call(client, 'get-sum', { a: 1, b: 2 }), /3/);
    assert.equal(await call(client, 'echo', { message: 'again' }), 'Echo: again');
    assert.equal(application.visits.length, 2);
    await client.close();
  });

  it('lets nobody in with a token for another resource', async () => {
    const saved = application.saved;
    const token = await fetch(`${proxy.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${saved.access_token}` },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    assert.equal(token.status, 401, 'it is for /mcp');
    assert.match(token.headers.get('www-authenticate'), /error="invalid_token"/);
  });
});
