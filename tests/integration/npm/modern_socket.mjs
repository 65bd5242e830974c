// A client of MCP's modern era over a WebSocket, without a library: each request stands alone, and what comes
// back is kept as it came.
import WebSocket from 'ws';

const key = (name) => `io.modelcontextprotocol/${name}`;

export class ModernSocket {
  received = []; // all messages
  #answers = new Map(); // what waits for one, by id
  #ids = 0;

  // `capabilities`: what it can be asked. `headers`: of the handshake.
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

  // The next id, for a request that is to be cancelled.
  id() {
    return (this.#ids += 1);
  }

  // The whole answer. `meta`: beside what each request has to have in `_meta`.
  request(method, params = {}, { id = this.id(), meta = {} } = {}) {
    const _meta = { [key('protocolVersion')]: '2026-07-28', [key('clientCapabilities')]: this.capabilities, ...meta };
    const answer = new Promise((resolve) => this.#answers.set(id, resolve));
    this.send({ id, method, params: { ...params, _meta } });
    return answer;
  }

  call(name, args = {}, more = {}, options = {}) {
    return this.request('tools/call', { name, arguments: args, ...more }, options);
  }

  // Calls until the answer asks no more; `answer(request)` is what the client says to what it is asked.
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

  // The parameters of all notifications of that kind so far.
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

// What a client adds to its request when a result has asked it something.
export const answersTo = ({ inputRequests = {}, requestState }, answer) => ({
  inputResponses: Object.fromEntries(Object.entries(inputRequests).map(([name, request]) => [name, answer(request)])),
  ...(requestState !== undefined && { requestState }),
});

export const metaKey = key;
