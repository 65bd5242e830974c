// A client of MCP's modern era over a WebSocket, without a library. Each request stands alone, and received messages
// are recorded unchanged.
import WebSocket from 'ws';

const key = (name) => `io.modelcontextprotocol/${name}`;

export class ModernSocket {
  received = []; // all messages
  #answers = new Map(); // resolvers of open requests, by id
  #ids = 0;

  // `capabilities`: declared in each request. `headers`: of the handshake.
  static async open(url, { capabilities = {}, headers = {} } = {}) {
    const client = new ModernSocket();
    client.capabilities = capabilities;
    client.socket = new WebSocket(url, { headers });
    client.closed = new Promise((resolve) => client.socket.on('close', (code) => resolve(code)));
    client.socket.on('message', (text) => client.#take(JSON.parse(text)));
    await new Promise((resolve, reject) => client.socket.on('open', resolve).on('error', reject));
    return client;
  }

  #take(message) {
    this.received.push(message);
    this.#answers.get(message.id)?.(message);
  }

  // A new id, for a request that will be cancelled.
  id() {
    return (this.#ids += 1);
  }

  // Returns the whole answer. `meta`: members of `_meta` besides the required members.
  request(method, params = {}, { id = this.id(), meta = {} } = {}) {
    const _meta = { [key('protocolVersion')]: '2026-07-28', [key('clientCapabilities')]: this.capabilities, ...meta };
    const answer = new Promise((resolve) => this.#answers.set(id, resolve));
    this.send({ id, method, params: { ...params, _meta } });
    return answer;
  }

  call(name, args = {}, more = {}, options = {}) {
    return this.request('tools/call', { name, arguments: args, ...more }, options);
  }

  // Calls until the result asks for nothing more. `answer(request)`: the client's answer to a question.
  async converse(name, args, answer) {
    let more = {};
    for (;;) {
      const { result, error } = await this.call(name, args, more);
      if (error !== undefined) throw new Error(JSON.stringify(error));
      if (result.resultType !== 'input_required') return result;
      more = answersTo(result, answer);
    }
  }

  send(message) {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  cancel(requestId) {
    this.send({ method: 'notifications/cancelled', params: { requestId } });
  }

  // The params of all notifications of this kind so far.
  told(notification) {
    return this.received.filter(({ method }) => method === `notifications/${notification}`).map(({ params }) => params);
  }

  answered(id) {
    return this.received.some((message) => message.id === id);
  }

  close() {
    this.socket.close();
    return this.closed;
  }
}

// The params that a client adds to its request after a result that has asked.
export const answersTo = ({ inputRequests = {}, requestState }, answer) => ({
  inputResponses: Object.fromEntries(Object.entries(inputRequests).map(([name, request]) => [name, answer(request)])),
  ...(requestState !== undefined && { requestState }),
});

export const metaKey = key;
