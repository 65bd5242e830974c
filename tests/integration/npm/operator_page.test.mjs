// The operator's page in a real browser (Chromium): the state under load, both colour schemes, and a phone. Markup from
// children and clients stays text. The page says so when it gets no data.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chromium } from 'playwright-core';

import { eventually, Stdgate } from './stdgate_process.mjs';

const browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
  '--disable-background-networking', '--disable-component-update',
];
const server = new URL('hostile_server.mjs', import.meta.url).pathname;
const markup = (where) => `<img src=x onerror="window.hacked='${where}'"><script>window.hacked='${where}'</script>`;

const config = [
  'listen: "127.0.0.1:0"', 'admin: "127.0.0.1:0"', 'backends:',
  '  main:', `    command: ["${process.execPath}", "${server}", "@DIR@"]`,
  '    default: true', '    env: { API_TOKEN: sesame-open-you }', '    pool: { max: 4 }',
  '  idle:', '    command: ["sh", "-c", "exit 8"]',
  '  broken:', '    command: ["sh", "-c", "exit 7"]', '    pool: { min: 1, backoff_min: 1ms, breaker_failures: 2 }',
  '',
].join('\n');

describe('the operator\'s page', { timeout: 60_000 }, () => {
  let gate, browser, page, isOver, load, complaints, requests;

  const sessionOf = async (name) => {
    const answer = await fetch(`${gate.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0', id: 1, method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name, version: '1' } },
      }),
    });
    assert.equal(answer.status, 200, await answer.text());
  };
  async function keepCalling() {
    for (let id = 1; !isOver; ++id) await gate.tool(id, 'wait', { ms: 2 }).catch(() => {});
  }

  // A new page, with records of its errors and requests.
  async function open(options = {}, prepare = () => {}) {
    const context = await browser.newContext(options);
    const opened = await context.newPage();
    await opened.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    const found = { complaints: [], requests: new Set() };
    opened.on('console', (message) => found.complaints.push(message.text()));
    opened.on('pageerror', (error) => found.complaints.push(error.message));
    opened.on('request', (request) => found.requests.add(request.url()));
    await prepare(opened);
    await opened.goto(`${gate.adminUrl}/`);
    return { page: opened, ...found };
  }
  const text = (selector) => page.locator(selector).first().innerText();
  // The value of a figure on a card.
  const figure = async (card, name) => {
    const box = page.locator(`[data-backend="${card}"] .numbers > div`, { has: page.locator('dt', { hasText: name }) });
    return Number((await box.first().locator('dd span').innerText()).replaceAll(',', ''));
  };

  before(async () => {
    gate = await Stdgate.serve(config);
    browser = await chromium.launch({ executablePath: browserPath, headless: true, args: flags });
    await sessionOf(markup('client'));
    await gate.tool(1, markup('tool'), {});
    await gate.tool(2, 'die', {}).catch(() => {});
    isOver = false;
    load = Promise.all([keepCalling(), keepCalling(), keepCalling()]);
    ({ page, complaints, requests } = await open());
    await page.locator('[data-backend="main"]').waitFor();
  });
  after(async () => {
    isOver = true;
    await load;
    await browser?.close();
    assert.deepEqual((await gate.stop()).left, []);
  });

  it('shows numbers that move with the load', async () => {
    const first = await figure('main', 'calls');
    assert.ok(first > 0);
    await eventually(async () => await figure('main', 'calls') > first, 'more calls');
    await eventually(async () => !/^0 /.test(await text('[data-backend="main"] .spark span')), 'calls a second');
    const rows = await page.locator('[data-backend="main"] .body tbody tr').allInnerTexts();
    assert.equal(rows.length, 3);
    for (const [i, name] of ['whole call', 'in queue', 'in child'].entries()) {
      assert.match(rows[i], new RegExp(`^${name}\\s+(< )?[\\d.]+ (µs|ms|s)\\s+(< )?[\\d.]+ (µs|ms|s)`));
    }
    assert.match(await text('[data-backend="main"] .badge'), /^ready$/);
    assert.match(await text('[data-backend="main"] .chips'), /mcp\s+legacy era\s+isolation: session\s+default/);
  });

  it('says why a backend is not ready, and how children ended', async () => {
    await eventually(async () => /breaker open|failing/.test(await text('[data-backend="broken"] .badge')), 'it is down');
    await eventually(async () => /exited with code 7/.test(await text('[data-backend="broken"] .why')), 'the reason');
    assert.match(await page.title(), /^1 backend down/);
    const exit = await text('[data-backend="main"] .exits');
    assert.match(exit, /exit nonzero\s+exited with code 3\s.*ago.*1 call lost/s);
    assert.ok(exit.includes(markup('stderr')), exit);
    assert.ok(exit.includes('it holds ***hidden***'), exit);
  });

  it('says of a backend that nobody has called that it was not started', async () => {
    assert.equal(await text('[data-backend="idle"] .badge'), 'not started yet');
  });

  it('has an overview of all backends, with a filter', async () => {
    const rows = page.locator('#overview tbody tr');
    assert.equal(await rows.count(), 3);
    assert.match(await rows.first().innerText(), /^broken\s+(breaker open|failing)/, 'what is down stands first');
    const cards = () => page.locator('[data-backend]:visible').evaluateAll((all) => all.map((card) => card.dataset.backend));
    for (const [wanted, expected] of [['down', ['broken']], ['NOT STARTED', ['idle']], ['ma', ['main']], ['nothing', []], ['', ['main', 'idle', 'broken']]]) {
      await page.fill('#filter', wanted);
      assert.deepEqual(await cards(), expected, wanted);
      assert.equal(await rows.count(), expected.length);
    }
    assert.equal(await rows.last().locator('a').getAttribute('href'), '#backend-idle');
  });

  it('shows what children and clients say as text', async () => {
    await page.evaluate(() => document.querySelectorAll('details').forEach((details) => { details.open = true; }));
    const shown = await page.locator('main').innerText();
    for (const where of ['client', 'tool', 'server', 'stderr', 'start']) {
      assert.ok(shown.includes(markup(where)), where);
    }
    assert.deepEqual(await page.evaluate(() => [
      window.hacked, document.querySelectorAll('img, iframe, b b, main script').length, document.scripts.length,
    ]), [undefined, 0, 1]);
  });

  it('shows the configuration without its secrets, and the sandbox', async () => {
    const shown = await text('#configuration pre');
    assert.match(shown, /API_TOKEN: "\*\*\*hidden\*\*\*"/);
    assert.match(shown, /backoff_min: 1ms/);
    assert.doesNotMatch(await page.content(), /sesame/);
    assert.match(await text('#facts'), /Children apart/);
  });

  it('asks for nothing but the state, and complains of nothing', async () => {
    assert.deepEqual([...requests].sort(), [`${gate.adminUrl}/`, `${gate.adminUrl}/debug/state`]);
    assert.deepEqual(complaints, []);
  });

  it('its policy lets no other script run, nor text become markup', async () => {
    const tried = await open();
    const refused = await tried.page.evaluate(() => {
      const script = document.createElement('script');
      try {
        script.textContent = 'window.hacked = 1';
        document.body.append(script);
      } catch {
        // Trusted Types already refuse the text.
      }
      try {
        document.body.innerHTML = '<b>x</b>';
        return 'taken';
      } catch (error) {
        return error.name;
      }
    });
    assert.equal(refused, 'TypeError');
    assert.equal(await tried.page.evaluate(() => window.hacked), undefined);
    assert.ok(tried.complaints.length > 0);
    await tried.page.context().close();
  });

  for (const [client, scheme] of [['curl', 'a clipboard'], ['vscode', 'none, over plain HTTP']]) {
    it(`copies a snippet (${client}) with ${scheme}`, async () => {
      const context = page.context();
      await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: gate.adminUrl });
      const { snippets } = await (await fetch(`${gate.adminUrl}/debug/state`)).json();
      await page.getByRole('tab', { name: client, exact: true }).click();
      if (client === 'vscode') {
        await page.evaluate(() => {
          window.clipboard = navigator.clipboard;
          Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
        });
      }
      const button = page.getByRole('button', { name: 'Copy The snippet' });
      await button.click();
      await eventually(async () => (await button.innerText()) === 'Copied', 'it says so');
      const copied = await page.evaluate(() => (window.clipboard ?? navigator.clipboard).readText());
      assert.equal(copied, snippets.find((snippet) => snippet.client === client).text.trimEnd());
    });
  }

  it('tabs of snippets are reached by arrow keys', async () => {
    await page.getByRole('tab', { name: 'curl', exact: true }).focus();
    await page.getByRole('tab', { name: 'curl', exact: true }).click();
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.locator('[role=tab][aria-selected=true]').innerText(), 'npm');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'tab-npm');
  });

  // The contrast of each visible text with its background (WCAG 2.1, 1.4.3).
  const faintTexts = () => {
    const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
    const luminance = (colour) => channels(colour).slice(0, 3)
      .map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((all, c, i) => all + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (node) => {
      for (let at = node; at; at = at.parentElement) {
        const colour = getComputedStyle(at).backgroundColor;
        if ((channels(colour)[3] ?? 1) > 0) return colour;
      }
      return 'rgb(255, 255, 255)';
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const faint = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (node.data.trim() === '' || parent.getClientRects().length === 0) continue;
      const [dark, light] = [getComputedStyle(parent).color, behind(parent)].map(luminance).sort((a, b) => a - b);
      const contrast = (light + 0.05) / (dark + 0.05);
      if (contrast < 4.5) faint.push(`${node.data.slice(0, 30)}: ${contrast.toFixed(2)}`);
    }
    return faint;
  };
  const grounds = [];
  for (const colorScheme of ['light', 'dark']) {
    it(`is readable in a ${colorScheme} scheme, and on a phone`, async () => {
      const phone = await open({ colorScheme, viewport: { width: 320, height: 640 }, isMobile: true });
      await phone.page.locator('[data-backend="main"]').waitFor();
      await phone.page.evaluate(() => document.querySelectorAll('details').forEach((details) => { details.open = true; }));
      assert.deepEqual(await phone.page.evaluate(faintTexts), []);
      const [wide, room] = await phone.page.evaluate(() => [
        document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.equal(wide, room);
      const ground = await phone.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.ok(!grounds.includes(ground), ground);
      grounds.push(ground);
      assert.deepEqual(phone.complaints, []);
      await phone.page.context().close();
    });
  }

  it('names what it is made of', async () => {
    const snapshot = await page.locator('body').ariaSnapshot();
    for (const part of ['heading "stdgate" [level=1]', 'heading "Backends" [level=2]', 'heading "main" [level=3]',
      'article', 'tablist "Client"', 'button "Pause"', 'columnheader "p99"', 'main']) {
      assert.ok(snapshot.includes(part), `${part} is not in\n${snapshot}`);
    }
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
  });

  it('pauses', async () => {
    const { page: held } = await open({}, (opened) => opened.clock.install());
    await held.locator('[data-backend="main"]').waitFor();
    let looks = 0;
    held.on('request', () => ++looks);
    await held.getByRole('button', { name: 'Pause' }).click();
    assert.equal(await held.locator('#live').innerText(), 'paused');
    await held.clock.runFor(20_000);
    assert.equal(looks, 0);
    await held.getByRole('button', { name: 'Resume' }).click();
    await eventually(() => looks > 0, 'it goes on');
    await held.context().close();
  });

  it('says what it gets instead of the state, and goes on asking', async () => {
    const { page: troubled } = await open({}, (opened) => opened.clock.install());
    await troubled.locator('[data-backend="main"]').waitFor();
    assert.equal(await troubled.locator('#trouble').isVisible(), false);
    const error = (message) => JSON.stringify({ error: { code: 'x', message } });
    const answers = [
      [(route) => route.fulfill({ status: 401, body: error('say who <b>calls</b>') }), /who you are \(401\)\. It says: say who <b>calls<\/b>\..*What is shown is of \d\d:\d\d:\d\d/],
      [(route) => route.fulfill({ status: 403, body: error('this host name may not be used') }), /\(403\).*this host name/],
      [(route) => route.fulfill({ status: 404, body: '' }), /\(404\).*admin\.roles/],
      [(route) => route.fulfill({ status: 502, body: 'no JSON' }), /status 502/],
      [(route) => route.fulfill({ status: 200, body: 'no JSON' }), /sends no JSON/],
      [(route) => route.abort(), /does not answer/],
    ];
    for (const [answer, expected] of answers) {
      await troubled.route('**/debug/state', answer);
      await troubled.clock.runFor(2000);
      await eventually(async () => expected.test(await troubled.locator('#trouble').innerText()), String(expected));
      assert.equal(await troubled.locator('#live').innerText(), 'no state');
      assert.equal(await troubled.locator('main').getAttribute('class'), 'stale');
      await troubled.unroute('**/debug/state');
    }
    await troubled.clock.runFor(2000);
    await eventually(async () => await troubled.locator('#live').innerText() === 'live', 'it is live again');
    assert.equal(await troubled.locator('#trouble').isVisible(), false);
    await troubled.context().close();
  });
});
