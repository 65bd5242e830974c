// Figures that the soak tests read from a running gateway, and how they judge them.
import { readFileSync, readdirSync } from 'node:fs';
import http from 'node:http';

// Memory in MiB, open descriptors, and children.
export function sample(gate) {
  const status = readFileSync(`/proc/${gate.process.pid}/status`, 'utf8');
  return {
    rss: Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024,
    files: readdirSync(`/proc/${gate.process.pid}/fd`).length,
    children: gate.children().length,
  };
}

// A page of the admin address, which is the socket `admin` in the gateway's folder.
export function adminText(gate, path) {
  return new Promise((resolve, reject) => {
    http.get({ socketPath: `${gate.folder}/admin`, path }, async (response) => {
      resolve((await response.toArray()).join(''));
    }).on('error', reject);
  });
}
export const stateOf = async (gate) => JSON.parse(await adminText(gate, '/debug/state'));

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// Compares the last third of the samples with the first. False: the value has grown.
export function isFlat(rows, name, tolerance) {
  const third = Math.floor(rows.length / 3);
  const first = mean(rows.slice(0, third).map((each) => each[name]));
  const last = mean(rows.slice(-third).map((each) => each[name]));
  console.log(`${name}: ${first.toFixed(1)} in the first third, ${last.toFixed(1)} in the last`);
  return last <= first * 1.2 + tolerance;
}
