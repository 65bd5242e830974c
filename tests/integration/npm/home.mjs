// The home folder of a user, with the files that stdgate writes, and programs that run in it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';

import { program } from './stdgate_process.mjs';

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

// The environment has only PATH and the variables of the home.
export class Home {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'stdgate-home-'));
    folders.push(this.folder);
    mkdirSync(this.path('run'), { mode: 0o700 });
    this.env = { PATH: process.env.PATH, HOME: this.folder, XDG_RUNTIME_DIR: this.path('run') };
  }

  path(name) {
    return join(this.folder, name);
  }

  write(name, text, mode = 0o644) {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), text, { mode });
    return this.path(name);
  }

  read(name) {
    return readFileSync(this.path(name), 'utf8');
  }

  run(...words) {
    const { status, stdout, stderr } =
      spawnSync(program, words, { env: this.env, cwd: this.folder, encoding: 'utf8' });
    return { status, out: stdout, err: stderr };
  }

  adopt(...words) {
    return this.run('adopt', ...words);
  }

  get gateway() {
    return this.read('.config/stdgate/gateway.yaml');
  }
}

// The socket on which the gateway of a home listens.
export const socket = (home) => home.path('run/stdgate.sock');
