// browser_test.js SITE: the site in Chromium, below a subpath: what people do on it, with a keyboard, without JavaScript,
// at two widths, in both themes and with poor colour vision. Screens go to SITE_TEST_SHOTS.
'use strict';
const fs = require('fs'), http = require('http'), path = require('path');
const puppeteer = require('puppeteer-core'), axeSource = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const site = process.argv[2], shots = process.env.SITE_TEST_SHOTS;
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml', '.csv': 'text/csv', '.png': 'image/png', '.xml': 'text/xml', '.txt': 'text/plain' };

let failures = 0, checks = 0;
function check(what, ok, more) {
  checks++;
  if (!ok) { failures++; console.error('FAIL ' + what + (more ? ': ' + more : '')); }
}

// A server as GitHub Pages is: a subpath, index.html in directories.
const server = http.createServer((q, r) => {
  const name = decodeURIComponent(q.url.split('?')[0]);
  if (!name.startsWith('/sub/path/')) { r.writeHead(404); return r.end(); }
  let file = path.join(site, name.slice('/sub/path'.length));
  if (fs.existsSync(file) && fs.statSync(file).isDirectory()) {
    if (!name.endsWith('/')) { r.writeHead(301, { location: name + '/' }); return r.end(); }
    file = path.join(file, 'index.html');
  }
  if (!fs.existsSync(file)) { r.writeHead(404); return r.end('not here'); }
  r.writeHead(200, { 'content-type': types[path.extname(file)] || 'application/octet-stream' });
  r.end(fs.readFileSync(file));
});

async function main() {
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const base = `http://127.0.0.1:${server.address().port}/sub/path/`, origin = new URL(base).origin;
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });

  async function open(address, o = {}) {
    const page = await browser.newPage();
    page.on('console', m => { if (m.type() === 'error' || m.type() === 'warn') check('console of ' + address, false, m.text()); });
    page.on('pageerror', e => check('script of ' + address, false, e.message));
    page.on('request', r => check('request of ' + address, r.url().startsWith(origin) || r.url().startsWith('data:'), r.url()));
    await page.setViewport({ width: o.width || 1280, height: 900 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: o.theme || 'light' }]);
    if (o.vision) await page.emulateVisionDeficiency(o.vision);
    if (o.script === false) await page.setJavaScriptEnabled(false);
    await page.goto(base + address, { waitUntil: 'networkidle0' });
    return page;
  }
  const text = (page, s) => page.$eval(s, e => e.innerText);
  const cards = page => page.$$eval('#answer .card', list => list.map(c => c.innerText.replace(/\s+/g, ' ')));

  async function axe(page, what) {
    await page.evaluate(axeSource);
    const r = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    check('axe ' + what, !r.violations.length, r.violations.map(v => v.id + ' ' + v.nodes[0].html.slice(0, 120) + ' ' + (v.nodes[0].any[0] || {}).message).join('; '));
    return r.incomplete.map(i => `${what}: ${i.id} (${i.nodes.length}) ${i.nodes[0].html.slice(0, 80)}`);
  }
  const incomplete = [];

  // Each kind of page, at two widths, in both themes: axe, and nothing wider than the window.
  const kinds = { start: '', answer: '?driver=550.90.07&gpu=L4', grid: 'grid/?driver=550.90.07&gpu=L4', gpu: 'gpu/p100/', torch: 'torch/2.15.0/', driver: 'driver/550/', instance: 'instance/p5.48xlarge/',
    rule: 'rule/driver-too-old/', xid: 'xid/79/', error: 'error/804/', things: 'things/?q=p100', docs: 'docs/faq/', data: 'data/' };
  for (const [kind, address] of Object.entries(kinds)) {
    for (const width of [360, 1280]) {
      for (const theme of ['light', 'dark']) {
        const page = await open(address, { width, theme });
        incomplete.push(...await axe(page, `${kind} ${width} ${theme}`));
        const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        check(`${kind} fits ${width}`, over <= 0, over + ' px wider');
        if (shots) await page.screenshot({ path: path.join(shots, `${kind}-${theme}-${width}.png`) });
        await page.close();
      }
    }
  }
  for (const vision of ['deuteranopia', 'achromatopsia']) {
    for (const address of ['grid/?driver=550.90.07&gpu=L4', '?driver=550.90.07&gpu=L4']) {
      const page = await open(address, { vision });
      incomplete.push(...await axe(page, address + ' ' + vision));
      if (shots) await page.screenshot({ path: path.join(shots, `${address.startsWith('grid') ? 'grid' : 'answer'}-${vision}.png`) });
      await page.close();
    }
  }

  // A linked question, typing, chips, back and forward.
  let page = await open('?driver=550.90.07&gpu=L4&want=torch');
  let c = await cards(page);
  check('a linked question is answered', c.some(t => /Keep the driver torch \d/.test(t)) && c.some(t => /on driver 5\d\d\./.test(t)), c.join(' | '));
  check('the address is canonical', (await page.evaluate(() => location.search)) === '?driver=550.90.07&gpu=L4');
  check('the command', (await text(page, '#answer .more')).includes('cudacompat pins --driver 550.90.07 --gpu L4 --want torch --python 3.12'));
  await page.click('[data-want=jax]');
  check('a button changes the question', (await page.evaluate(() => location.search)) === '?driver=550.90.07&gpu=L4&want=jax');
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('#answer .what').textContent.startsWith('torch'));
  await page.goForward();
  await page.waitForFunction(() => document.querySelector('#answer .what').textContent.startsWith('jax'));
  await page.click('.chip button');
  check('a chip is removed', (await page.evaluate(() => location.search)) === '?gpu=L4&want=jax');
  await page.goBack();
  await page.waitForFunction(() => location.search === '?driver=550.90.07&gpu=L4&want=jax');
  await page.close();

  // The box: what it understands, what it asks, and that a paste stays out of the address.
  page = await open('');
  const before = await page.evaluate(() => history.length);
  async function type(words) {
    await page.$eval('#box', e => { e.value = ''; });
    await page.focus('#box');
    await page.evaluate(w => { const b = document.getElementById('box'); b.value = w; b.dispatchEvent(new Event('input')); }, words);
    return page.$$eval('.chip > span', l => l.map(e => e.textContent).join(', '));
  }
  for (const [words, want] of [['driver 550 L4', 'driver 550, GPU L4'], ['p5.48xlarge', 'instance p5.48xlarge'], ['NVIDIA-SMI 535.183.01 Driver Version: 535.183.01 CUDA Version: 12.2 NVIDIA H100', 'driver 535.183.01, GPU H100'],
    ['RTX 5090 570.86.10', 'driver 570.86.10, GPU RTX 5090'], ['python 3.11 T4', 'GPU T4, Python 3.11'], ['gtx1080ti', 'GPU GTX 1080 Ti'], ['P100 newest torch', 'GPU P100'], ['DGX Spark', 'GPU DGX Spark'],
    ['Which driver for vLLM on EKS with g5.xlarge?', 'instance g5.xlarge'], ['driver 535.183.01, H100. Can I use cu130?', 'driver 535.183.01, GPU H100'],
    ['Windows 11 torch RTX 4090 driver 551.61', 'driver 551.61, GPU RTX 4090, system windows']]) {
    const got = await type(words);
    check('reads ' + words, got === want, got);
  }
  check('Windows is answered', await page.waitForFunction(() => /Keep the driver\s+torch \d/.test(document.getElementById('answer').innerText), { timeout: 5000 }).then(() => true, () => false));
  check('no package manager on Windows', !/apt|dnf|runfile|triton/.test(await text(page, '#answer')));
  await type('driver 535.183.01 cu130');
  check('the floor of a build', /CUDA 13\.0 needs driver 580\.65\.06 or newer: it does not run on 535\.183\.01/.test(await text(page, '#notes')), await text(page, '#notes'));
  check('typing replaces', (await page.evaluate(() => history.length)) === before);
  await type('RTX 4090 windows');
  await page.click('[data-platform=linux]');
  check('a button changes the system', !(await page.evaluate(() => location.search)).includes('platform'));
  await type('torch on RTX 5090 and cu126');
  await page.waitForFunction(() => /cu126 has no code for RTX 5090/.test(document.getElementById('notes').innerText), { timeout: 5000 }).then(() => true, () => false);
  check('a build without code', /torch 2\.\d+\.\d+\+cu126 has no code for RTX 5090/.test(await text(page, '#notes')), await text(page, '#notes'));
  await type('RTX 580 535');
  check('asks which number is the driver', (await page.$$('.ask button')).length === 2);
  await type('secret-token-123 driver 550 L4');
  check('a paste stays out of the address', !(await page.evaluate(() => location.href)).includes('secret'));
  await type('GPU XYZ 9000');
  check('says what is not recognised', /No driver, GPU/.test(await text(page, '#notes')));
  await type('error 804');
  check('an error has its page', /error\/804\//.test(await page.$eval('#notes a', a => a.href)));
  await page.close();
  page = await open('?gpu=RTX+9999&driver=550');
  check('an unknown GPU is not known', /not known/.test(await text(page, '#answer')));
  await page.close();
  page = await open('?gpu=GTX+980&driver=620.70.06');
  check('nothing keeps this driver', (await cards(page)).some(t => /Nothing keeps this driver/.test(t)));
  await page.close();

  // Keyboard alone.
  page = await open('');
  for (let i = 0; i < 12 && (await page.evaluate(() => document.activeElement.id)) !== 'box'; i++) await page.keyboard.press('Tab');
  check('the box is reached by Tab', (await page.evaluate(() => document.activeElement.id)) === 'box');
  await page.keyboard.type('550.90.07 L4');
  await page.waitForSelector('#answer .card');
  for (let i = 0; i < 30 && !(await page.evaluate(() => document.activeElement.className === 'copy')); i++) await page.keyboard.press('Tab');
  check('Copy is reached by Tab', await page.evaluate(() => document.activeElement.className === 'copy'));
  await page.close();
  page = await open('grid/');
  await page.focus('table.grid td[tabindex="0"]');
  check('one tab stop', (await page.$$eval('section:not([hidden]) td[tabindex="0"]', l => l.length)) === 1);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  check('arrows move', await page.evaluate(() => document.activeElement.dataset.r === '1' && document.activeElement.dataset.gpu === '1'));
  await page.keyboard.press('Enter');
  check('a cell opens', /torch .* on P100/.test(await text(page, '#cell')));
  await page.click('[data-table=any]');
  await page.select('#gpu', '7');
  await page.type('#driver', '550.90.07');
  const row = await page.$eval('#table-any tbody tr:nth-child(2)', e => e.innerText.replace(/\s+/g, ' '));
  check('my driver', /\(13\d/.test(row) && (await page.$eval('#table-any tbody tr:nth-child(2) td b', e => e.textContent)) === '126', row);
  check('my column is first', (await page.$eval('#table-any thead th:nth-child(2)', e => e.innerText)).startsWith('L4'));
  check('the grid has an address', (await page.evaluate(() => location.search)) === '?driver=550.90.07&gpu=L4&builds=any');
  await page.close();

  // Without JavaScript.
  page = await open('', { script: false });
  check('an answer without JavaScript', /525\.60\.13\+ → 2\./.test(await text(page, '#start')));
  check('no dead box without JavaScript', await page.$eval('#ask', e => e.hidden));
  await page.close();
  page = await open('gpu/p100/', { script: false });
  check('a thing answers in its first line', /PyTorch for P100: \S+, the last/.test(await text(page, '.answer-line')));
  await page.close();
  page = await open('grid/', { script: false });
  check('both grids without JavaScript', (await page.$$eval('table.grid', l => l.filter(t => t.offsetHeight).length)) === 2);
  await page.close();

  // Search, aliases.
  page = await open('things/');
  await page.type('#find', 'driver too old');
  check('the search finds a rule', (await page.$$eval('#found a', l => l.map(a => a.href).join(' '))).includes('rule/driver-too-old/'));
  await page.close();
  page = await open('gpu/V100/');
  await page.waitForFunction(() => location.pathname.endsWith('/gpu/v100/'));
  await page.close();

  await browser.close();
  server.close();
  console.log(`browser: ${checks} checks, ${failures} failed`);
  const unsure = [...new Set(incomplete.map(i => i.replace(/^[^:]*: /, '')))];
  if (unsure.length) console.log('axe could not decide:\n  ' + unsure.join('\n  '));
  if (failures) process.exit(1);
}

main().catch(e => { console.error(e); process.exit(1); });
