// A real authorization server (oidc-provider) with a user who agrees to everything, and the user's browser.
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';

import Provider from 'oidc-provider';

// Drops the scopes from a client's registration. A client registers with the scopes that it knows so far, but must be
// able to get further scopes later.
async function withoutScopeOfClients(context, next) {
  if (context.path === '/reg' && context.method === 'POST') {
    const { scope, ...metadata } = JSON.parse(await text(context.req));
    context.req.body = metadata;
  }
  await next();
}

export class AuthorizationServer {
  // `scopes`: granted for `resource`, separated by spaces.
  static async start({ scopes }) {
    const own = new AuthorizationServer();
    own.server = http.createServer((request, response) => own.#serve(request, response));
    own.server.listen(0, '127.0.0.1');
    await once(own.server, 'listening');
    own.issuer = `http://127.0.0.1:${own.server.address().port}`;
    own.provider = new Provider(own.issuer, own.#configuration(scopes));
    own.provider.use(withoutScopeOfClients);
    own.requests = []; // their paths
    return own;
  }

  #configuration(scopes) {
    return {
      scopes: ['openid', 'offline_access', ...scopes.split(' ')],
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
      clientAuthMethods: ['none'],
      cookies: { keys: ['of these tests'] },
      ttl: { AccessToken: 600, Grant: 600, Interaction: 600, Session: 600, IdToken: 600 },
      features: {
        devInteractions: { enabled: false },
        registration: { enabled: true },
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: (_, resource) => ({
            scope: scopes,
            audience: resource,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
    };
  }

  async #serve(request, response) {
    this.requests.push(new URL(request.url, this.issuer).pathname);
    if (!request.url.startsWith('/interaction/')) return this.provider.callback()(request, response);
    const { prompt, params, session, grantId } = await this.provider.interactionDetails(request, response);
    const result = prompt.name === 'login'
      ? { login: { accountId: 'ada' } }
      : { consent: { grantId: await this.#consent({ prompt, params, session, grantId }) } };
    return this.provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  }

  async #consent({ prompt, params, session, grantId }) {
    const grant = grantId
      ? await this.provider.Grant.find(grantId)
      : new this.provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    const { missingOIDCScope, missingResourceScopes } = prompt.details;
    if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '));
    for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
      grant.addResourceScope(resource, scopes.join(' '));
    }
    return grant.save();
  }

  async stop() {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

// Follows redirects with cookies, as a browser does, until a redirect leads to `callback`. Returns its query.
export async function browse(url, callback) {
  const cookies = new Map();
  for (let at = new URL(url); ; ) {
    const header = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(at, { redirect: 'manual', headers: { cookie: header } });
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = cookie.split(';')[0].split(/=(.*)/s);
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (!location) throw new Error(`${at}: ${response.status} ${await response.text()}`);
    at = new URL(location, at);
    if (at.href.startsWith(callback)) return at.searchParams;
  }
}
