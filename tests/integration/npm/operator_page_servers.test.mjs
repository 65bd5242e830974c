// The operator's page of a gateway with a virtual server: the members that are up, and why other members are down.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chromium } from 'playwright-core';

import { eventually, Stdgate } from './stdgate_process.mjs';

const browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const server = new URL('hostile_server.mjs', import.meta.url).pathname;
const config = [
  'listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"', 'backends:',
  `  good: { command: ["${process.execPath}", "${server}", "@DIR@"] }`,
  '  gone: { command: ["no-such-program"] }',
  'servers: { team: { default: true, members: [good, gone] } }', '',
].join('\n');

describe('the operator\'s page of virtual servers', { timeout: 60_000 }, () => {
  let gate, browser, page;
  const complaints = [];
  const text = (selector) => page.locator(selector).first().innerText();

  before(async () => {
    gate = await Stdgate.serve(config);
    browser = await chromium.launch({ executablePath: browserPath, headless: true, args: ['--no-sandbox', '--disable-gpu'] });
    page = await browser.newPage();
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
  });
  after(async () => {
    await browser?.close();
    assert.deepEqual((await gate.stop()).left, []);
    assert.deepEqual(complaints, []);
  });

  it('shows members, whether they are up, and why not', async () => {
    await gate.post({ id: 1, method: 'tools/list', params: {} });
    await page.goto(`${gate.adminUrl}/`);
    const section = page.locator('[data-backend="team"] details', { has: page.locator('b', { hasText: /^Members$/ }) });
    await section.waitFor();
    const rows = section.locator('tbody tr');
    await eventually(async () => /could not be started/.test(await rows.nth(1).innerText()), 'the reason');
    assert.match(await rows.first().innerText(), /^good\s+up\s+\d+/);
    assert.match(await rows.nth(1).innerText(), /^gone\s+down\s+0\s.*the child could not be started/s);
    assert.equal(await section.evaluate((node) => node.open), true, 'it is open where a member is down');
    const figures = (await text('[data-backend="team"] .numbers')).replaceAll('\n', ' ');
    assert.match(figures, /1 of 2 members up|members up 1 of 2/);
    assert.doesNotMatch(figures, /children/);
    assert.match(await text('#overview tbody'), /team.*down: gone/);
    assert.match(await text('[data-backend="good"] .numbers'), /children/);
  });
});
