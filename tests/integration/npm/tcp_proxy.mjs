// A TCP proxy in front of a gateway, whose connections a test can cut.
import { once } from 'node:events';
import net from 'node:net';

export class TcpProxy {
  #pairs = new Set();

  static async to(url) {
    const proxy = new TcpProxy();
    proxy.leadTo(url);
    proxy.server = net.createServer((client) => {
      const { hostname, port } = proxy.target;
      proxy.#join(client, net.connect(port, hostname));
    });
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    proxy.url = `http://127.0.0.1:${proxy.server.address().port}`;
    proxy.requests = []; // the first line of each
    return proxy;
  }

  // For new connections.
  leadTo(url) {
    this.target = new URL(url);
  }

  #join(client, gateway) {
    const pair = { client, gateway, last: '' };
    this.#pairs.add(pair);
    client.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      const line = /^(GET|POST|DELETE|OPTIONS) \S+/.exec(text);
      if (line) this.requests.push(line[0]);
      pair.last = line ? text : pair.last + text;
    });
    client.pipe(gateway);
    gateway.pipe(client);
    for (const socket of [client, gateway]) {
      socket.on('error', () => {}); // its close follows
      socket.on('close', () => this.#cut(pair));
    }
  }

  #cut(pair) {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.gateway.destroy();
  }

  // Cuts the connections whose last request has `word` in it; answers how many.
  cut(word) {
    const cut = [...this.#pairs].filter(({ last }) => last.includes(word));
    cut.forEach((pair) => this.#cut(pair));
    return cut.length;
  }

  close() {
    this.server.close();
    this.cut('');
  }
}
