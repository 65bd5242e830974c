// A TCP proxy in front of a gateway. Tests can cut its connections.
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
    proxy.requests = []; // their first lines
    return proxy;
  }

  // Sets the target of new connections.
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
      socket.on('error', () => {}); // `close` follows
      socket.on('close', () => this.#cut(pair));
    }
  }

  #cut(pair) {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.gateway.destroy();
  }

  // Cuts the connections whose last request contains `word`, and returns their number.
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
